/** One flag, for both readers of the command line: Node's own (fast) and yargs (help, and errors that help). */
export interface Flag {
  readonly type: 'string' | 'boolean'
  readonly multiple?: boolean
  readonly choices?: readonly string[]
  readonly describe: string
}

/** Flags by name, as they were given. */
export type Given = ReadonlyMap<string, string | boolean | readonly string[]>

/** What stands behind the flags: words, and the command line after `--`. */
export interface Rest {
  readonly words: readonly string[]
  readonly command: readonly string[] | undefined
}

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]

/** Flags that wrap, serve, inspect and lock share (contract section 2). */
export const sharedFlags: Readonly<Record<string, Flag>> = {
  config: { type: 'string', describe: 'configuration file (YAML or JSON)' },
  server: { type: 'string', describe: 'which server of the file; else the name that the audit log gives this one' },
  header: { type: 'string', multiple: true, describe: 'NAME=VALUE: send this header to the URL (repeatable); ${env:NAME} stands for a variable' },
  policy: { type: 'string', describe: 'observe, standard, strict, or a policy file (default: standard)' },
  rule: { type: 'string', multiple: true, describe: 'ID=ACTION: off, log, demote or block (repeatable)' },
  trust: { type: 'boolean', describe: 'believe the annotations of this server' },
  'trust-list': { type: 'string', describe: 'file that lists the trusted servers' },
  audit: { type: 'string', describe: 'audit log: a file, - for the standard stream to spare, or none' },
  'log-level': { type: 'string', choices: logLevels, describe: 'least severe message on stderr (default: warn)' },
}

export interface SharedFlags {
  readonly config: string | undefined
  readonly server: string | undefined
  readonly header: readonly string[]
  readonly policy: string | undefined
  readonly rule: readonly string[]
  readonly trust: boolean
  readonly trustList: string | undefined
  readonly audit: string | undefined
  readonly logLevel: LogLevel
}

/** The server that the arguments name: a command line after `--`, or a URL. */
export interface Target {
  readonly command: readonly string[] | undefined
  readonly url: string | undefined
}

export const text = (given: Given, name: string): string | undefined => {
  const value = given.get(name)
  return typeof value === 'string' ? value : undefined
}

export const texts = (given: Given, name: string): readonly string[] => {
  const value = given.get(name)
  return Array.isArray(value) ? value.map(String) : []
}

export const readShared = (given: Given): SharedFlags => {
  const level = text(given, 'log-level')
  return {
    config: text(given, 'config'),
    server: text(given, 'server'),
    header: texts(given, 'header'),
    policy: text(given, 'policy'),
    rule: texts(given, 'rule'),
    trust: given.get('trust') === true,
    trustList: text(given, 'trust-list'),
    audit: text(given, 'audit'),
    logLevel: logLevels.find(one => one === level) ?? 'warn',
  }
}

export const readTarget = ({ words, command }: Rest): Target => ({ command, url: words[0] })
