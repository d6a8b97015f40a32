import { badUsage } from '#relay/base/errors.js'
import { about, valuesOf, type Given, type Rest } from '../flag.js'
import { sharedFlags } from './relay.js'
import { reportFormatOf, timeoutFlags, timeoutMsOf, type ReportFormat } from './inspect.js'

const ownFlags = {
  ...about('Lock', {
    lock: {
      type: 'string', value: 'FILE',
      describe: 'the lock file (default: the configuration\'s, else customs.lock.json; of a client\'s ' +
        'servers, the one that install --lock makes)',
    },
    yes: { type: 'boolean', describe: 'accept everything that changed, without asking' },
    accept: {
      type: 'string', value: 'TOOL', multiple: true,
      describe: 'accept only what changed of this tool, without asking',
    },
    expect: {
      type: 'string', value: 'DIGEST', multiple: true,
      describe: 'the digest of the definition that was reviewed: --accept accepts no other; one for each ' +
        '--accept, in the same order',
    },
    verbose: {
      type: 'boolean',
      describe: 'show the digests of tools that changed, and of several servers everything that new ones ' +
        'offer',
    },
    check: { type: 'boolean', describe: 'write nothing; exit code 1 when anything differs from the lock' },
    json: { type: 'boolean', describe: 'say what differs as JSON (with --check)' },
    sarif: { type: 'boolean', describe: 'say what differs as SARIF 2.1.0, for code scanning (with --check)' },
  }),
  ...about('Client', {
    client: {
      type: 'string', value: 'NAME|FILE',
      describe: 'the servers of a client: its name, or the path of its configuration file',
    },
    project: {
      type: 'string', value: 'FOLDER', describe: 'only the client\'s servers of the project in this folder',
    },
  }),
  ...about('Requests', timeoutFlags),
}

export const lockFlags = { ...sharedFlags, ...ownFlags }

export interface LockFlags {
  readonly file: string | undefined
  readonly client: string | undefined
  readonly project: string | undefined
  readonly accept: ReadonlySet<string>
  /** The digests that the definitions of tools to accept may have, by their names. */
  readonly expect: ReadonlyMap<string, ReadonlySet<string>>
  readonly yes: boolean
  readonly check: boolean
  readonly verbose: boolean
  readonly format: ReportFormat
  readonly timeoutMs: number
}

/** @throws CustomsError BAD_USAGE */
const expectedOf = (accept: readonly string[], expect: readonly string[]): LockFlags['expect'] => {
  if (expect.length > 0 && expect.length !== accept.length)
    badUsage('--expect goes with --accept: give one digest for each tool, in the same order')
  const expected = new Map<string, Set<string>>()
  for (const [index, text] of expect.entries()) {
    const [, hex] = /^(?:sha256-)?([0-9a-f]{64})$/i.exec(text) ?? []
    const digest = hex
      ?? badUsage('--expect must be a digest of 64 hex digits')
    const name = accept[index] ?? ''
    expected.set(name, (expected.get(name) ?? new Set()).add(`sha256-${digest.toLowerCase()}`))
  }
  return expected
}

/** @throws CustomsError BAD_USAGE */
export const readLockFlags = (given: Given, { words, command }: Rest): LockFlags => {
  const values = valuesOf(ownFlags, given)
  const { lock: file, yes, check, verbose, json, sarif, client, project } = values
  const accept = new Set(values.accept)
  if (check && (yes || accept.size > 0)) {
    badUsage('--check writes nothing: give either it, or --yes or --accept')
  }
  if (yes && accept.size > 0) badUsage('give either --yes or --accept, not both')
  const expect = expectedOf(values.accept, values.expect)
  if ((json || sarif) && !check) badUsage(`--${json ? 'json' : 'sarif'} needs --check`)
  const format = reportFormatOf(values)
  if (project !== undefined && client === undefined) badUsage('--project goes with --client')
  const isNamed = (command ?? words[0]) !== undefined
  const flag = ['config', 'header', 'ca', 'env'].find(name => given.has(name))
  const other = isNamed ? 'a command or URL' : flag === undefined ? undefined : `--${flag}`
  if (client !== undefined && other !== undefined) badUsage(`--client says which servers: leave ${other} out`)
  const timeoutMs = timeoutMsOf(values)
  return { file, client, project, accept, expect, yes, check, verbose, format, timeoutMs }
}
