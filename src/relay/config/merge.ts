import { combined, everyTool, type NamePatterns, type Patterns, type ToolSetting } from '#relay/core/options.js'
import { defaults } from './generated/defaults.js'
import type * as Written from './generated/types.js'
import { fail, type Keys } from './source.js'

/** The merged endpoint's name: as a server, and as the one entry of a client. */
export const mergedEntry = 'mcp-customs'

/** One endpoint with what several servers offer. */
export interface MergeConfiguration {
  readonly path: string
  readonly separator: string
  /** In the order in which a URI belongs to the first that lists it. */
  readonly servers: readonly { readonly name: string; readonly prefix: string }[]
}

type WrittenMerge = Exclude<NonNullable<Written.ConfigurationFile['merge']>, boolean>

/**
 * @param names of all servers, in the order of the file
 * @throws Problem
 */
export const readMerge = (
  written: Written.ConfigurationFile['merge'], names: readonly string[],
): MergeConfiguration | undefined => {
  if (written === undefined || written === false) return undefined
  const merge: WrittenMerge = written === true ? {} : written
  const { path = defaults.merge.path, separator = defaults.merge.separator, prefix = {} } = merge
  const known = (name: string, keys: Keys) => {
    if (!names.includes(name)) fail(keys, `there is no server ${JSON.stringify(name)} (there is: ${names.join(', ')})`)
  }
  if (names.length === 0) return fail(['merge'], 'there is no server to merge')
  merge.servers?.forEach((name, index) => known(name, ['merge', 'servers', index]))
  for (const name of Object.keys(prefix)) known(name, ['merge', 'prefix', name])
  const endpoint = names.find(name => path === `/${name}/mcp`)
  if (endpoint !== undefined) return fail(['merge', 'path'], `is the endpoint of the server ${endpoint}`)
  if (path.startsWith('/.well-known/')) return fail(['merge', 'path'], 'is a path of this program')
  const owners = new Map<string, string>()
  const servers = (merge.servers ?? names).map(name => {
    const own = Object.hasOwn(prefix, name) ? prefix[name] : undefined
    const one = own ?? name.replace(/[^A-Za-z0-9_-]/g, '_')
    const other = owners.get(one)
    if (other !== undefined) {
      const what = one === '' ? 'one server at most may have no prefix' : `the prefix ${JSON.stringify(one)} is that of`
      return fail(
        own === undefined ? ['merge'] : ['merge', 'prefix', name],
        one === '' ? `${what}: ${other} has none` : `${what} ${other} too: give ${name} another under merge.prefix`,
      )
    }
    owners.set(one, name)
    return { name, prefix: one }
  })
  return { path, separator, servers }
}

/**
 * A server with the names of tools as it knows them: the operator may write them as the merged endpoint shows
 * them. What is written stays beside it, since it may be a name of the server's own.
 * @throws ConfigurationProblem for a name that cannot be read so
 */
export const inOwnNames = <Server extends {
  readonly name: string
  readonly names?: NamePatterns | undefined
  readonly tools: ReadonlyMap<string, ToolSetting>
}>(
  server: Server, { servers, separator }: MergeConfiguration,
): Server => {
  const { prefix = '' } = servers.find(({ name }) => name === server.name) ?? {}
  if (prefix === '') return server
  const shown = `${prefix}${separator}`
  const both = (key: string, names: readonly string[] | undefined) =>
    names?.flatMap(name => [...new Set([name, ...ownPatterns([...keysOf(server.name), key], name, shown)])])
  const bothIn = ({ allow, deny }: Patterns): Patterns => ({ allow: both('allow', allow), deny: both('deny', deny) })
  const tools = new Map<string, ToolSetting>()
  for (const [name, setting] of server.tools) {
    tools.set(name, combined(setting, tools.get(name)))
    if (name === everyTool) continue
    for (const own of ownPatterns([...keysOf(server.name), 'tools', name], name, shown))
      tools.set(own, combined(server.tools.get(own) ?? setting, setting))
  }
  const { names } = server
  return {
    ...server, tools,
    names: names && {
      ...bothIn(names), clients: names.clients?.map(list => list.map(one => ({ ...one, ...bothIn(one) }))),
    },
  }
}

const keysOf = (server: string): Keys => ['servers', server]

/** The end of a name that was cut for a client that takes shorter ones. */
const digest = /_[0-9a-f]{12}$/

/** The patterns of a server's own names whose shown names fit a pattern. */
const ownPatterns = (keys: Keys, pattern: string, shown: string): readonly string[] => {
  if (pattern.startsWith(shown) && digest.test(pattern))
    fail(keys, `${JSON.stringify(pattern)} is a name that was cut: write the name that the server itself gives the tool`)
  const own = restsAfter(pattern, shown)
  if (keys.at(-1) !== 'allow' || pattern === '*' || !own.includes('*')) return own
  // Of the server's own names it fits a few, and of the shown ones all: only the few are sure to be meant.
  if (pattern.startsWith('*')) return own.filter(rest => rest !== '*')
  return fail(keys, `${JSON.stringify(pattern)} fits each of its tools at the merged endpoint: write "*", or name them`)
}

/** The patterns for the rest of names that begin with a text. */
const restsAfter = (pattern: string, text: string): readonly string[] => {
  let rests = new Set([pattern])
  for (const char of text) {
    const next = new Set<string>()
    for (const rest of rests) {
      if (!rest.startsWith('*')) {
        if (rest.startsWith(char)) next.add(rest.slice(1))
        continue
      }
      next.add(rest)
      // The star may end here: the set is walked on to what is added.
      rests.add(rest.slice(1))
    }
    rests = next
  }
  return [...rests]
}
