/** A place in a text, in UTF-16 units; the end is behind it. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** One value of a configuration file, whatever its syntax, and where it stands. */
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

/** In TOML the members of one table may stand anywhere in the file: a table has no span of its own. */
export interface TableValue {
  readonly kind: 'table'
  /** A key that stands twice is here twice. */
  readonly members: readonly Member[]
}

interface OtherValue extends Span {
  readonly kind: 'other'
  /** `true`, `false` or null; undefined for numbers and dates. */
  readonly value: boolean | null | undefined
}

export interface Member {
  readonly key: string
  /** Each place where the key is spelt, its quotation marks included: one, but for tables of TOML. */
  readonly keys: readonly Span[]
  /** Each place where a part of the member stands: key and value, or a whole `[table]`. */
  readonly places: readonly Span[]
  /** What stands between this member and the next: a comma, or the end of a line. */
  readonly layout: 'comma' | 'line'
  readonly value: Value
}

/** A member whose value is of a certain kind. */
export interface MemberOf<Kind extends Value> extends Member {
  readonly value: Kind
}

/** A file that was read; its text is as it stands there, the byte order mark included. */
export interface Document {
  readonly text: string
  readonly root: TableValue
  /** A text as this syntax spells it, in quotation marks. */
  readonly spellText: (text: string) => string
  /** The same of a key. */
  readonly spellKey: (key: string) => string
}

export const noTable: TableValue = { kind: 'table', members: [] }

export const memberOf = (table: TableValue, key: string): Member | undefined =>
  table.members.find(one => one.key === key)

/** Below the first member of each key. */
export const memberAt = (table: TableValue, path: readonly string[]): Member | undefined => {
  const [key, ...rest] = path
  const found = key === undefined ? undefined : memberOf(table, key)
  return rest.length === 0
    || found === undefined ? found : found.value.kind === 'table' ? memberAt(found.value, rest) : undefined
}

/** The first key that the table has twice: two readers may take different ones. */
export const repeatedKey = ({ members }: TableValue): string | undefined =>
  members.find(({ key }, index) => members.findIndex(one => one.key === key) < index)?.key

/** The first key of a path that its table has twice. */
export const repeatedOn = (table: TableValue, [key, ...rest]: readonly string[]): string | undefined => {
  const [found, again] = table.members.filter(one => one.key === key)
  if (again !== undefined) return key
  return found?.value.kind === 'table' ? repeatedOn(found.value, rest) : undefined
}

export const isText = (member: Member): member is MemberOf<TextValue> => member.value.kind === 'text'

export const isTable = (member: Member): member is MemberOf<TableValue> => member.value.kind === 'table'

export const isTextList = (member: Member): member is MemberOf<TextListValue> =>
  member.value.kind === 'list' && member.value.elements.every(({ kind }) => kind === 'text')

export const slice = ({ text }: Document, { from, to }: Span): string => text.slice(from, to)

/** What stands instead of a part of a text. */
export interface Splice extends Span {
  readonly text: string
}

/**
 * The text with its parts replaced, and everything else as it was.
 * @param splices that do not overlap, in any order
 */
export const splice = (text: string, splices: readonly Splice[]): string => {
  let result = ''
  let at = 0
  for (const { from, to, text: instead } of [...splices].sort((a, b) => a.from - b.from)) {
    result += text.slice(at, from) + instead
    at = to
  }
  return result + text.slice(at)
}
