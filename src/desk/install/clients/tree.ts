/** A part of a text, in UTF-16 units: from (inclusive) to (exclusive). */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A value of a configuration file in JSON or TOML, with its position. */
export type Value = TextValue | ListValue | TableValue | OtherValue

export interface TextValue extends Span {
  readonly kind: 'text'
  readonly text: string
}

interface ListValue extends Span {
  readonly kind: 'list'
  readonly elements: readonly Value[]
}

export interface TextListValue extends ListValue {
  readonly elements: readonly TextValue[]
}

/** A table has no span, because in TOML its members may be anywhere in the file. */
export interface TableValue {
  readonly kind: 'table'
  /** In the file's order. A duplicate key has several members. */
  readonly members: readonly Member[]
}

interface OtherValue extends Span {
  readonly kind: 'other'
  /** `true`, `false` or null; undefined for numbers and dates. */
  readonly value: boolean | null | undefined
}

export interface Member {
  readonly key: string
  /** The key's positions, including quotation marks: several only for tables of TOML. */
  readonly keys: readonly Span[]
  /** The positions of the member's parts: key and value, or a whole `[table]`. */
  readonly places: readonly Span[]
  /** What separates this member from the next: a comma, or the end of a line. */
  readonly layout: 'comma' | 'line'
  readonly value: Value
}

export interface MemberOf<Kind extends Value> extends Member {
  readonly value: Kind
}

/** A file that was read. The text includes the byte order mark. */
export interface Document {
  readonly text: string
  readonly root: TableValue
  /** Spells a text in this syntax, with quotation marks. */
  readonly spellText: (text: string) => string
  /** Spells a key. */
  readonly spellKey: (key: string) => string
}

export const noTable: TableValue = { kind: 'table', members: [] }

export const memberOf = (table: TableValue, key: string): Member | undefined =>
  table.members.find(one => one.key === key)

/** Follows the first member of each key on the path. */
export const memberAt = (table: TableValue, path: readonly string[]): Member | undefined => {
  const [key, ...rest] = path
  const found = key === undefined ? undefined : memberOf(table, key)
  if (rest.length === 0 || found === undefined) return found
  return found.value.kind === 'table' ? memberAt(found.value, rest) : undefined
}

/** The first duplicate key of the table: programs differ in which of its members counts. */
export const repeatedKey = ({ members }: TableValue): string | undefined =>
  members.find(({ key }, index) => members.findIndex(one => one.key === key) < index)?.key

/** The first key on the path that is a duplicate in its table. */
export const repeatedOn = (table: TableValue, [key, ...rest]: readonly string[]): string | undefined => {
  const [found, again] = table.members.filter(one => one.key === key)
  if (again !== undefined) return key
  return found?.value.kind === 'table' ? repeatedOn(found.value, rest) : undefined
}

export const isText = (member: Member): member is MemberOf<TextValue> => member.value.kind === 'text'

export const isTable = (member: Member): member is MemberOf<TableValue> => member.value.kind === 'table'

export const isTextList = (member: Member): member is MemberOf<TextListValue> =>
  member.value.kind === 'list' && member.value.elements.every(({ kind }) => kind === 'text')

export const treeSlice = ({ text }: Document, { from, to }: Span): string => text.slice(from, to)

/** From the first part of a member to its last; in TOML other members may stand between. */
export const regionOf = ({ places }: Member): Span => ({
  from: Math.min(...places.map(({ from }) => from)), to: Math.max(...places.map(({ to }) => to)),
})

/** A text that replaces a part of another. */
export interface Splice extends Span {
  readonly text: string
}

/** Replaces parts of a text. @param splices do not overlap, in any order */
export const splice = (text: string, splices: readonly Splice[]): string => {
  let result = ''
  let at = 0
  for (const { from, to, text: instead } of [...splices].sort((a, b) => a.from - b.from)) {
    result += text.slice(at, from) + instead
    at = to
  }
  return result + text.slice(at)
}
