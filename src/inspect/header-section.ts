import { isObject, isString, member, type JsonObject } from '../protocol/unmetered.js'
import type { Inspection } from './inspection.js'
import { plain } from './plain.js'
import type { Style } from './style.js'
import { count, indent, wrap } from './wrap.js'

/** Who the server is, by its own word, and what is said once for all of its tools. */
export const headerSection = (inspection: Inspection, style: Style, width: number): string => {
  const { target, saved, connected } = inspection
  const { instructions } = connected
  const isGuessed = saved?.hasGreeting === false
  const rows: readonly (readonly [string, string])[] = [
    ...(isGuessed ? [] : [['says it is', selfNamed(connected.serverInfo)] as const]),
    ['revision', revisionOf(inspection)],
    ...(isGuessed ? [] : [['capabilities', capabilitiesOf(connected.capabilities)] as const]),
    ['annotations', annotationsOf(inspection)],
    ...(instructions === undefined ? [] : [['instructions', `${JSON.stringify(plain(instructions, 240))} (${count(instructions.length, 'character')})`] as const]),
  ]
  const label = Math.max(...rows.map(([name]) => name.length)) + 2
  return [
    style.title(plain(target, 2 * width)),
    ...rows.map(([name, text]) => `  ${style.dim(name.padEnd(label))}${indent(wrap(text, width - label - 2), label + 2)}`),
  ].join('\n')
}

const selfNamed = (info: JsonObject | undefined): string => {
  const text = (key: string): string => {
    const value = member(info, key)
    return isString(value) ? plain(value) : ''
  }
  const title = text('title')
  const named = [text('name'), text('version')].filter(part => part !== '').join(' ')
  if (named === '') return 'nobody (it gives no name)'
  return title === '' || title === text('name') ? named : `${named} (${title})`
}

const revisionOf = ({ saved, connected: { revision, supported } }: Inspection): string => {
  if (saved?.hasGreeting === false) return `${plain(revision)} (a guess: the file does not say)`
  return `${plain(revision)}${supported.length > 1 ? ` (supports ${supported.map(one => plain(one, 20)).join(', ')})` : ''}`
}

const capabilitiesOf = (capabilities: JsonObject): string => {
  const names = Object.keys(capabilities).slice(0, 20).map(name => {
    const value = member(capabilities, name)
    const within = isObject(value) ? Object.keys(value).filter(key => value[key] !== false).slice(0, 10) : []
    return plain(name, 40) + (within.length > 0 ? ` (${within.map(key => plain(key, 40)).join(', ')})` : '')
  })
  return names.join(', ') || 'none'
}

const annotationsOf = ({ annotations: { tools, kept }, trusted }: Inspection): string => {
  if (tools === 0) return 'none'
  const fate = trusted ? 'kept: trusted' : kept ? 'kept by the policy, though not trusted' : 'removed by a relay: not trusted (--trust keeps them)'
  return `on ${count(tools, 'tool')}, ${fate}`
}
