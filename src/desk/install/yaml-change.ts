import { isDeepStrictEqual } from 'node:util'
import { isMap, isScalar, parseDocument, type Node, type YAMLMap } from 'yaml'
import { isRecord } from '#relay/protocol/unmetered.js'

/**
 * Adds a member with the value true to a text in YAML or JSON, or removes it, with the maps on the way that
 * it leaves empty. All other bytes stay.
 * @returns undefined where the text has no place for it
 */
export const changed = (text: string, path: readonly string[], isRemoved: boolean): string | undefined => {
  const document = parseDocument(text)
  // A server of a client's `mcpServers` has no settings of ours.
  if (!document.hasIn(path.slice(0, 2))) return undefined
  let [holder, depth]: [Node | null, number] = [document.contents, 0]
  const maps: YAMLMap[] = []
  while (isMap(holder)) {
    maps.push(holder)
    holder = holder.get(path[depth++] ?? '', true) ?? null
  }
  const at = maps.length - 1
  // A map that holds nothing else goes with its member.
  const first = isRemoved ? maps.findLastIndex(({ items }, index) => items.length > 1 || index <= 2) : at
  const map = maps[first]
  const made = map && (isRemoved ? without(text, map, path[first] ?? '') : withMember(text, map, path.slice(first)))
  if (made === undefined) return undefined
  if (isRemoved) document.deleteIn(path.slice(0, first + 1))
  else if (holder === null) document.setIn(path, true)
  // What the text says now is what was meant, or it is left alone.
  const { errors, ...read } = parseDocument(made)
  return errors.length === 0 && isDeepStrictEqual(read.contents?.toJSON(), document.toJS()) ? made : undefined
}

const withMember = (text: string, map: YAMLMap, path: readonly string[]): string | undefined => {
  const flow = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), true)
  const last = map.items.at(-1)
  if (map.flow === true) {
    const end = (map.range?.[1] ?? 0) - 1
    const at = text.slice(0, end).trimEnd().length
    return splice(text, at, at, `${last === undefined ? '' : ','} ${JSON.stringify(flow).slice(1, -1)}`)
  }
  if (last === undefined) return undefined
  const end = lineEnd(text, endOf(last.value ?? last.key))
  const column = columnOf(text, startOf(map.items[0]?.key))
  const lines = path.map((key, index) =>
    `\n${' '.repeat(column + 2 * index)}${/^[A-Za-z_][\w-]*$/.test(key) ? key : JSON.stringify(key)}:`)
  return splice(text, end, end, `${lines.join('')} true`)
}

const without = (text: string, map: YAMLMap, name: string): string | undefined => {
  const index = map.items.findIndex(({ key }) => isScalar(key) && key.value === name)
  const pair = map.items[index]
  if (pair === undefined) return undefined
  const [from, to] = [startOf(pair.key), endOf(pair.value ?? pair.key)]
  if (map.flow !== true) return splice(text, text.lastIndexOf('\n', from - 1), lineEnd(text, to), '')
  const before = index > 0 ? text.lastIndexOf(',', from) : from
  const after = index > 0 ? to : text.indexOf(',', to) + 1 || to
  return splice(text, before, after, '')
}

const splice = (text: string, from: number, to: number, insert: string): string =>
  text.slice(0, Math.max(0, from)) + insert + text.slice(to)

const startOf = (node: unknown): number => rangeOf(node)[0]

/** The end of the last scalar in it: the range of a block has what follows, too. */
const endOf = (node: unknown): number => {
  const last = isMap(node) && node.flow !== true ? node.items.at(-1) : undefined
  return last === undefined ? rangeOf(node)[1] : endOf(last.value ?? last.key)
}

const rangeOf = (node: unknown): readonly [number, number] => {
  const range = isRecord(node) ? node['range'] : undefined
  const [from = 0, to = 0] = Array.isArray(range) ? range.filter(one => typeof one === 'number') : []
  return [from, to]
}

const lineEnd = (text: string, at: number): number => {
  const end = text[at - 1] === '\n' ? at - 1 : text.indexOf('\n', at)
  return end < 0 ? text.length : end
}

const columnOf = (text: string, at: number): number => at - (text.lastIndexOf('\n', at - 1) + 1)
