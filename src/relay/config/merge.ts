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
