import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Machine } from '#relay/base/platform/machine.js'
import { isList, isRecord, isString, field, parseData } from '#relay/protocol/unmetered.js'

/** How long a registry may take to answer, in milliseconds. */
const patienceMs = 3000

/**
 * The newest version of a package, as its registry tells; undefined where none does, or without a network.
 * Only packages that need no credentials are looked up.
 */
export const newestVersion = async (
  registry: 'npm' | 'PyPI', name: string, machine: Machine,
): Promise<string | undefined> => {
  try {
    return await (registry === 'npm' ? newestOfNpm(name, machine) : newestOfPyPI(name, machine))
  } catch {
    // Offline, unknown there, or no registry: a look-up is a courtesy.
    return undefined
  }
}

const newestOfNpm = async (name: string, machine: Machine): Promise<string | undefined> => {
  const answer = await ask(`${await npmRegistryFor(name, machine)}/${name.replace('/', '%2f')}/latest`)
  return versionIn(isRecord(answer) ? field(answer, 'version') : undefined)
}

/** From npm's environment variable, else from the user's `.npmrc`. */
const npmRegistryFor = async (name: string, { environment, home }: Machine): Promise<string> => {
  const settings = new Map((await readFile(join(home, '.npmrc'), 'utf8').catch(() => '')).split('\n')
    .map(line => /^\s*([^=\s]+)\s*=\s*(\S+)\s*$/.exec(line))
    .map(found => [found?.[1] ?? '', found?.[2] ?? '']))
  const scoped = settings.get(`${name.split('/')[0] ?? ''}:registry`)
  const url = scoped ?? environment['npm_config_registry'] ?? settings.get('registry')
  return (url ?? 'https://registry.npmjs.org').replace(/(?<!\/)\/+$/, '')
}

/** The simple API of a Python index (PEP 691, with the versions of PEP 700). */
const newestOfPyPI = async (name: string, { environment }: Machine): Promise<string | undefined> => {
  const { UV_DEFAULT_INDEX, UV_INDEX_URL, PIP_INDEX_URL } = environment
  const index = UV_DEFAULT_INDEX ?? UV_INDEX_URL ?? PIP_INDEX_URL ?? 'https://pypi.org/simple'
  const answer = await ask(`${index.replace(/(?<!\/)\/+$/, '')}/${name.toLowerCase().replace(/[-._]+/g, '-')}/`)
  const versions = isRecord(answer) ? field(answer, 'versions') : undefined
  const releases = (isList(versions) ? versions : []).filter(isString)
    .filter(one => /^\d+(?:\.\d+)*$/.test(one))
  return releases.reduce<string | undefined>(
    (newest, one) => (newest === undefined || isNewer(one, newest) ? one : newest), undefined,
  )
}

const ask = async (url: string) => {
  const accept = 'application/vnd.pypi.simple.v1+json, application/json'
  const response = await fetch(url, { headers: { accept }, signal: AbortSignal.timeout(patienceMs) })
  return response.ok ? parseData(await response.text()) : undefined
}

const versionIn = (value: unknown): string | undefined =>
  typeof value === 'string' && /^\d[\w.+-]{0,60}$/.test(value) ? value : undefined

/** Whether a version is newer than another, by its numbers. False if one of them is a pre-release. */
export const isNewer = (one: string, other: string): boolean => {
  if (![one, other].every(version => /^\d+(?:\.\d+)*$/.test(version))) return false
  const [a, b] = [one, other].map(version => version.split('.').map(Number))
  for (const [index, number] of (a ?? []).entries()) {
    const before = b?.[index] ?? 0
    if (number !== before) return number > before
  }
  return false
}
