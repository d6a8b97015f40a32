import { CustomsError } from '../../errors.js'
import { about, type Flags, type Given, type Rest, text, texts } from '../flag.js'
import { sharedFlags } from '../flags.js'
import { milliseconds, timeout } from '../inspect/flags.js'

export const lockFlags: Flags = {
  ...sharedFlags,
  ...about('Lock', {
    lock: { type: 'string', value: 'FILE', describe: 'the lock file (default: the configuration\'s, else customs.lock.json; of a client\'s servers, the one that install --lock makes)' },
    yes: { type: 'boolean', describe: 'accept everything that changed, without asking' },
    accept: { type: 'string', value: 'TOOL', multiple: true, describe: 'accept only what changed of this tool, without asking' },
    check: { type: 'boolean', describe: 'write nothing; exit code 1 when anything differs from the lock' },
    json: { type: 'boolean', describe: 'say what differs as JSON (with --check)' },
    sarif: { type: 'boolean', describe: 'say what differs as SARIF 2.1.0, for code scanning (with --check)' },
  }),
  ...about('Client', {
    client: { type: 'string', value: 'NAME|FILE', describe: 'the servers of a client: its name, or the path of its configuration file' },
    project: { type: 'string', value: 'FOLDER', describe: 'only the client\'s servers of the project in this folder' },
  }),
  ...about('Requests', { timeout }),
}

export interface LockFlags {
  readonly file: string | undefined
  readonly client: string | undefined
  readonly project: string | undefined
  readonly accept: ReadonlySet<string>
  readonly yes: boolean
  readonly check: boolean
  readonly format: 'text' | 'json' | 'sarif'
  readonly timeoutMs: number
}

/** @throws CustomsError BAD_USAGE */
export const readLockFlags = (given: Given, { words, command }: Rest): LockFlags => {
  const accept = new Set(texts(given, 'accept'))
  const yes = given.get('yes') === true
  const check = given.get('check') === true
  const json = given.get('json') === true
  const sarif = given.get('sarif') === true
  const client = text(given, 'client')
  const project = text(given, 'project')
  if (check && (yes || accept.size > 0)) fail('--check writes nothing: give either it, or --yes or --accept')
  if (yes && accept.size > 0) fail('give either --yes or --accept, not both')
  if ((json || sarif) && !check) fail(`--${json ? 'json' : 'sarif'} needs --check`)
  if (json && sarif) fail('give either --json or --sarif, not both')
  if (project !== undefined && client === undefined) fail('--project goes with --client')
  const other = client === undefined ? undefined : (command ?? words[0]) !== undefined ? 'a command or URL' : ['config', 'header', 'ca', 'env'].find(name => given.has(name))?.replace(/^/, '--')
  if (other !== undefined) fail(`--client says which servers: leave ${other} out`)
  return { file: text(given, 'lock'), client, project, accept, yes, check, format: json ? 'json' : sarif ? 'sarif' : 'text', timeoutMs: milliseconds(text(given, 'timeout') ?? '30') }
}

const fail = (reason: string): never => {
  throw new CustomsError('BAD_USAGE', reason)
}
