import { createInterface } from 'node:readline/promises'
import type { Configuration } from '../config/configuration.js'
import { CustomsError } from '../errors.js'
import { catalogueOf } from '../inspect/catalogue.js'
import { diffReport, diffValue, type Comparison } from '../inspect/diff-report.js'
import { plain } from '../inspect/plain.js'
import { styleFor, widthOf } from '../inspect/style.js'
import { acceptTools, nothingAccepted } from '../lock/accept.js'
import { compare, type Catalogue } from '../lock/compare.js'
import { decide, standardActions } from '../lock/decide.js'
import type { Lock } from '../lock/lock.js'
import { plainJson } from '../protocol/plain-json.js'
import type { SharedFlags, Target } from './flags.js'
import { inspectServer, targetOf } from './inspection.js'
import { readLock, writeLock } from './lock-file.js'
import type { LockFlags } from './lock-flags.js'
import { identityOf } from './lock-identity.js'
import { print } from './print.js'
import { setUp, type ServerSetup } from './setup.js'

/**
 * `lock`: lists everything, says what differs from what was accepted, asks, and writes what is accepted now.
 * @returns 0 when the lock says what the servers offer, or what was asked for of it; 1 when it does not; 128 and the signal's
 * number when it was interrupted
 * @throws CustomsError
 */
export const lockCommand = async (flags: SharedFlags, target: Target, own: LockFlags): Promise<number> => {
  const { configuration, servers } = await setUp(flags, target, 'inspect', true)
  const lock = await readLock(own.file)
  if (lock === undefined && own.check) throw new CustomsError('BAD_CONFIG', `${own.file}: there is no such lock file (mcp-customs lock, without --check, writes one)`)
  const before = lock ?? new Map<string, Catalogue>()
  const after = new Map(before)
  const comparisons: Comparison[] = []
  for (const one of servers) {
    const { server: { name } } = one
    const listed = await list(one, configuration, flags, own)
    if (typeof listed === 'number') return listed
    const wanted = own.accept.size === 0 ? listed : acceptTools(before.get(name) ?? { ...listed, tools: new Map() }, listed, own.accept)
    after.set(name, wanted)
    comparisons.push({
      before: own.file,
      after: `${name} (${targetOf(one.server)})`,
      changes: compare(before.get(name) ?? nothingAccepted, wanted),
      incomparable: [],
    })
  }
  await print(own.json ? json(comparisons) : text(comparisons))
  // A server without anything to compare is new all the same.
  const isSame = comparisons.every(({ changes }) => changes.length === 0) && servers.every(({ server }) => before.has(server.name))
  if (isSame) return own.accept.size === 0 ? 0 : unchanged(own)
  if (own.check) return 1
  if (!own.yes && own.accept.size === 0 && !(await isAccepted(own.file))) return 1
  await writeLock(own.file, after satisfies Lock)
  process.stderr.write(`mcp-customs: wrote ${own.file}\n`)
  return 0
}

const list = async (one: ServerSetup, configuration: Configuration, flags: SharedFlags, { timeoutMs }: LockFlags): Promise<Catalogue | number> => {
  const inspection = await inspectServer(one, configuration, flags, { isNamed: true, timeoutMs })
  return typeof inspection === 'number' ? inspection : catalogueOf(inspection, await identityOf(one.server))
}

const unchanged = ({ accept }: LockFlags): never => {
  throw new CustomsError('BAD_USAGE', `--accept ${[...accept].map(name => JSON.stringify(plain(name))).join(', ')}: nothing changed of any such tool`)
}

const text = (comparisons: readonly Comparison[]): string =>
  comparisons.map(comparison => diffReport(comparison, styleFor(process.stdout, process.env), widthOf(process.stdout))).join('\n')

const json = (comparisons: readonly Comparison[]): string =>
  `${plainJson({ version: 1, servers: comparisons.map(comparison => ({ ...diffValue(comparison), ...decide(comparison.changes, standardActions) })) })}\n`

/** Without anybody at a terminal nothing is accepted. */
const isAccepted = async (file: string): Promise<boolean> => {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    process.stderr.write(`mcp-customs: ${file} was not written: nobody is there to ask (--yes accepts all of it, --accept TOOL a part)\n`)
    return false
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`Accept this, and write it to ${file}? [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
