import type { MergeConfiguration } from '#relay/config/merge.js'
import { fail, type Keys } from '#relay/config/source.js'
import {
  everyTool, type NamePatterns, type Patterns, type ToolSetting, withWider,
} from '#relay/core/options.js'

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
    tools.set(name, withWider(setting, tools.get(name)))
    if (name === everyTool) continue
    for (const own of ownPatterns([...keysOf(server.name), 'tools', name], name, shown))
      tools.set(own, withWider(server.tools.get(own) ?? setting, setting))
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
