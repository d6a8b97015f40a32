import { stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { defaultLimits, type ServerConfiguration } from '#relay/config/configuration.js'
import { clients } from '#desk/install/clients/known.js'
import { badUsage, codeOf, CustomsError } from '#relay/base/errors.js'
import { compareSaved } from './catalogue.js'
import { diffJson, diffReport } from './diff.js'
import { type Inspection, isFine } from './inspection.js'
import { isAcceptedByAll } from './profiles.js'
import { parseSaved, type Saved } from './saved.js'
import { styleFor, widthOf } from '#desk/terminal/style.js'
import { readBoundedText } from '#relay/base/operator-file.js'
import { automatic, profiles } from '#relay/profiles/index.js'
import type { Profile } from '#relay/profiles/profile.js'
import type { FrameLimits } from '#relay/protocol/frame.js'
import type { Rest } from '#cli/flag.js'
import type { RelaySettings } from '#relay/host/settings.js'
import type { Target } from '#relay/config/target.js'
import { print } from '#desk/terminal/output.js'
import { setUp } from '#relay/host/server/setup.js'
import { version } from '#relay/base/version.js'
import type { InspectFlags } from '#cli/flags/inspect.js'
import { inspectServer } from './server.js'

/**
 * `inspect`: connects once, or reads a saved list; lists and checks everything, and reports on stdout.
 * @returns 1 when a rule of action block is broken, not everything could be listed, or, with `--strict`, a
 * profile does not accept a tool as it is; else 0; 128 and the signal's number when it was interrupted
 * @throws CustomsError
 */
export const inspectCommand = async (
  flags: RelaySettings, target: Target, own: InspectFlags,
): Promise<number> => {
  const { configuration, servers: [one] } = await setUp(flags, target, 'inspect')
  if (one === undefined) return badUsage('which server?')
  const { file } = target
  if (file !== undefined && own.call !== undefined) {
    return badUsage('--call needs a server: a file cannot be called')
  }
  const inspection = await inspectServer(one, configuration, flags, {
    target: file,
    // Where the server is an argument, only --server gives it a name.
    isNamed: flags.server !== undefined || (target.command ?? target.url ?? file) === undefined,
    saved: file === undefined ? undefined : await readSaved(file, configuration.limits),
    call: own.call,
    profiles: chosenProfiles(one.judgement.ruling.shapes?.names ?? [], own.clients),
    timeoutMs: own.timeoutMs,
    exact: own.format === 'json',
  })
  if (typeof inspection === 'number') return inspection
  await print(await render(inspection, own, await placeOf(one.server, file ?? configuration.file)))
  return isFine(inspection) && (!own.strict || isAcceptedByAll(inspection.profiles)) ? 0 : 1
}

/** `auto` stands for every profile here: there is no client. */
const chosenProfiles = (names: readonly string[], ofClients: readonly string[]): readonly Profile[] => {
  const own = clients.filter(({ name }) => ofClients.includes(name)).map(({ profile }) => profile)
  const wanted = new Set([...names, ...own])
  return profiles.filter(({ name }) => wanted.has(name) || wanted.has(automatic))
}

const render = async (inspection: Inspection, { format }: InspectFlags, place: string): Promise<string> => {
  switch (format) {
    case 'json':
      return (await import('./inspection.js')).jsonReport(inspection)
    case 'sarif':
      return (await import('./sarif.js')).sarifReport(inspection, place, version())
    case 'text': {
      const [{ report }, { styleFor, widthOf }] =
        await Promise.all([import('./report.js'), import('#desk/terminal/style.js')])
      return report(inspection, styleFor(process.stdout, process.env), widthOf(process.stdout))
    }
  }
}

/**
 * `inspect --diff`: reports on stdout what changed between two saved lists.
 * @returns 1 when anything did, else 0
 * @throws CustomsError
 */
export const diffCommand = async (
  { words: [before, after], command }: Rest, { format }: InspectFlags,
): Promise<number> => {
  if (before === undefined || after === undefined || command !== undefined) {
    return badUsage('--diff takes two files')
  }
  const named = async (file: string) => ({ file, saved: await readSaved(file, defaultLimits) })
  const comparison = compareSaved(await named(before), await named(after))
  await print(format === 'json'
    ? diffJson(comparison)
    : diffReport(comparison, styleFor(process.stdout, process.env), widthOf(process.stdout)))
  return comparison.changes.length > 0 ? 1 : 0
}

/** Longest file, in bytes: the same bound as for a server's list. */
const longest = 64 * 1024 * 1024

/** @throws CustomsError BAD_USAGE for a file that cannot be read, BAD_CONFIG for one that holds no list */
const readSaved = async (file: string, limits: FrameLimits): Promise<Saved> => {
  const text = await readBoundedText(file, longest, 'BAD_USAGE').catch((error: unknown) => {
    if (!(error instanceof CustomsError) || codeOf(error.cause) !== 'ENOENT') throw error
    throw new CustomsError(
      error.code, `${error.message}; a command is given after --, and a URL begins with http:// or https://`,
      error,
    )
  })
  return parseSaved(text, file, limits)
}

/**
 * The relative URI under which a code scan reports a server: the configuration that declares it, else the
 * script in its command, else (for files outside the working directory) its name.
 */
export const placeOf = async (
  server: ServerConfiguration, configuration: string | undefined,
): Promise<string> => {
  const words = 'command' in server ? server.command.map(word => resolve(server.cwd ?? '.', word)) : []
  for (const file of configuration === undefined ? words : [resolve(configuration), ...words]) {
    const uri = await localUri(file)
    if (uri !== undefined) return uri
  }
  return encodeURIComponent(server.name)
}

/** The relative URI of a file in the working directory; undefined for any other. */
export const localUri = async (file: string): Promise<string | undefined> => {
  const local = relative(process.cwd(), resolve(file))
  const within = local !== '' && !local.startsWith('..') && !isAbsolute(local)
  return within && (await isFile(file)) ? local.split(sep).map(encodeURIComponent).join('/') : undefined
}

const isFile = (path: string): Promise<boolean> => stat(path).then(found => found.isFile(), () => false)
