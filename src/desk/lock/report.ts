import { pathToFileURL } from 'node:url'
import { type OfferComparison, diffValue } from '#desk/inspect/diff.js'
import { plain } from '#relay/base/plain.js'
import { sarifLog, type SarifResult } from '#desk/inspect/sarif.js'
import type { Change } from '#relay/lock/compare.js'
import { changeClasses } from '#relay/lock/comparison.js'
import { decide, standardActions } from '#relay/lock/decide.js'
import { withDigits } from '#relay/lock/digits.js'
import { plainJson } from '#relay/protocol/quote.js'
import { pointer } from '#relay/protocol/unmetered.js'
import { localUri } from '#desk/inspect/command.js'
import { version } from '#relay/base/version.js'

/** The differences of one server. */
export interface Compared {
  readonly name: string
  readonly comparison: OfferComparison
  /** Of each tool that differs and is listed, by its name; two where the eras get different ones. */
  readonly digests: ReadonlyMap<string, readonly string[]>
  readonly lock: { readonly file: string; readonly text: string }
}

/** The report of `lock --check` as JSON. */
export const json = (all: readonly Compared[]): string =>
  withDigits(plainJson({
    version: 1,
    servers: all.map(({ comparison, digests }) => ({
      ...diffValue(comparison), ...decide(comparison.changes, standardActions),
      digests: Object.fromEntries(digests),
    })),
  })) + '\n'

/** The report as SARIF 2.1.0: each change at its line of the lock. */
export const sarif = async (all: readonly Compared[]): Promise<string> => {
  const runs = all.map(async ({ name, comparison: { after, changes }, lock }) => {
    const file = (await localUri(lock.file)) ?? pathToFileURL(lock.file).href
    return {
      category: `lock/${plain(name, 128)}`,
      problems: [],
      properties: { server: plain(after, 300) },
      results: changes.map(change => resultOf(change, name, file, lineOf(lock.text, name, change))),
    }
  })
  return sarifLog(await Promise.all(runs), version())
}

const resultOf = (
  { part, name, class: kind, path, before, after }: Change, server: string, file: string, line: number,
): SarifResult => {
  const action = standardActions[kind]
  const [thing, place] = [`${part} ${plain(name, 128)}`.trim(), plain(pointer(...path), 300)]
  const what = before === undefined ? 'is new' : after === undefined ? 'is gone' : 'is not what was accepted'
  return {
    rule: 'tool/drift',
    level: action === 'block' ? 'error' : 'warning',
    text: `${thing}${place === '' ? '' : ` at ${place}`}: ${changeClasses[kind]}: ${what} (mcp-customs ` +
      'lock shows it, and accepts it)',
    file,
    line,
    subject: {
      name: `${server}/${name === '' ? part : name}`, kind: part === 'tool' ? 'function' : 'module',
    },
    fingerprint: [server, part, name, kind, pointer(...path)],
    properties: { class: kind, action },
  }
}

/**
 * The line of the accepted definition; for a new one, its server's line; in a lock laid out by hand, the
 * first.
 */
const lineOf = (text: string, server: string, { name }: Change): number => {
  const at = text.indexOf(`\n    ${plainJson(server)}: {`)
  const own = name === '' || at < 0 ? -1 : text.indexOf(`\n        ${plainJson(name)}: {`, at + 1)
  const end = text.indexOf('\n    }', at)
  const found = own >= 0 && own < end ? own : at
  return found < 0 ? 1 : text.slice(0, found).split('\n').length + 1
}
