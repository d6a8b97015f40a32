// Writes test/relay/protocol/positions.json: where the specification lets a Tool, an Icon, a piece of content, a tool's result, a
// request of the server's, a URI, base64 or a text stand in what a server sends. Run it where the official schema.json of each
// revision is at hand; what it found is kept, so that the test runs without.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']
const schemaOf = revision => new URL(`../shared/spec/${revision}/schema.json`, root)

export const file = new URL('test/relay/protocol/positions.json', root)

export const isAtHand = revisions.every(revision => existsSync(schemaOf(revision)))

/** Definitions that are judged as what they are. */
const named = new Map([
  ['Tool', 'Tool'], ['Icon', 'Icon'], ['CallToolResult', 'CallToolResult'],
  ['CreateMessageRequest', 'request'], ['ElicitRequest', 'request'], ['ListRootsRequest', 'request'],
  ...['Text', 'Image', 'Audio', 'ToolUse', 'ToolResult'].map(name => [`${name}Content`, 'content']),
  ['EmbeddedResource', 'content'], ['ResourceLink', 'content'],
])

/** Results that the text of the specification gives to a request, and its schema does not (2025-11-25, Tasks). */
const alsoAnswers = new Map([['2025-11-25 tools/call', ['CreateTaskResult']], ['2025-11-25 tasks/result', ['CallToolResult']]])

/**
 * @returns every position: the method ('' for an error, which answers any), the part of the message, what stands there, and the way to it: a
 *   string is a member, 0 an element of an array, '*' a member of an object of any name, an object what the value there must have
 */
const mayBeNull = ({ type, $ref, anyOf, const: only }) =>
  (type === undefined ? $ref === undefined && anyOf === undefined && only === undefined : type.includes('null'))

const positionsOf = revision => {
  const schema = JSON.parse(readFileSync(schemaOf(revision), 'utf8'))
  const definitions = new Map(Object.entries(schema.$defs ?? schema.definitions))
  const found = new Map()
  const nameIn = ({ $ref = '' }) => $ref.split('/').at(-1)

  const walk = (node, method, part, way, within) => {
    const note = kind => {
      const position = [method, part, kind, way]
      found.set(JSON.stringify(position), position)
    }
    if (node.$ref !== undefined) {
      const name = nameIn(node)
      if (within.includes(name)) return
      const kind = named.get(name)
      if (kind !== undefined) note(kind)
      else if (part === 'error' && name === 'ElicitRequestURLParams') note('elicitation')
      if (kind === 'Icon') return
      return walk(definitions.get(name), method, part, way, [...within, name])
    }
    for (const one of [...(node.anyOf ?? []), ...(node.allOf ?? [])]) walk(one, method, part, way, within)
    if (node.items !== undefined) walk(node.items, method, part, [...way, 0], within)
    if (node.type === 'string' && node.const === undefined && node.enum === undefined) note(node.format?.replace(/-.*/, '') ?? 'text')
    const members = Object.entries(node.properties ?? {})
    const constants = Object.fromEntries(members.flatMap(([key, value]) => (typeof value.const === 'string' ? [[key, value.const]] : [])))
    const here = Object.keys(constants).length > 0 ? [...way, constants] : way
    for (const [key, value] of members) {
      // A null there is a fault of a serialiser. The inside of a request is not judged, nor are a tool's data.
      const isOptional = part === 'result' && !(node.required ?? []).includes(key) && !mayBeNull(value)
      if (isOptional && !here.includes('inputRequests') && key !== 'structuredContent') found.set(`${method} ${key} ${JSON.stringify(here)}`, [method, part, 'optional', [...here, key]])
      walk(value, method, part, [...here, key], within)
    }
    const { additionalProperties: others } = node
    if (typeof others === 'object' && Object.keys(others).length > 0) walk(others, method, part, [...here, '*'], within)
  }

  const methodIn = name => definitions.get(name).properties.method.const
  const union = name => (definitions.get(name)?.anyOf ?? []).map(nameIn)
  for (const name of union('ClientRequest')) {
    const method = methodIn(name)
    const base = name.replace(/Request$/, '')
    const response = definitions.get(`${base}ResultResponse`)?.properties.result
    const result = response ?? { $ref: `/${definitions.has(`${base}Result`) ? `${base}Result` : 'EmptyResult'}` }
    for (const one of [result, ...(alsoAnswers.get(`${revision} ${method}`) ?? []).map(name => ({ $ref: `/${name}` }))]) walk(one, method, 'result', [], [])
  }
  for (const name of [...union('ServerRequest'), ...union('ServerNotification')]) {
    const { params = {} } = definitions.get(name).properties
    if (named.get(name) === 'request') found.set(name, [methodIn(name), 'params', 'request', []])
    walk(params, methodIn(name), 'params', [], [])
  }
  for (const [, { properties }] of definitions) if (properties?.error !== undefined) walk(properties.error, '', 'error', [], [])
  return [...found.values()]
}

/** As the file should be. */
export const text = () => {
  const lines = revision => positionsOf(revision).map(position => `    ${JSON.stringify(position)}`).sort().join(',\n')
  return `{\n${revisions.map(revision => `  ${JSON.stringify(revision)}: [\n${lines(revision)}\n  ]`).join(',\n')}\n}\n`
}

if (process.argv[1] === new URL(import.meta.url).pathname) writeFileSync(file, text())
