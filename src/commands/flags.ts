import { about, type Flags, type Given, readSettings, type Rest, type Settings, text, texts } from './flag.js'

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]

/** Flags that wrap, serve, inspect and lock share (contract section 2). */
export const sharedFlags: Flags = {
  ...about('Server', {
    config: { type: 'string', value: 'FILE', describe: 'configuration file (YAML or JSON)' },
    server: { type: 'string', value: 'NAME', describe: 'which server of the file; else the name that the audit log gives this one' },
    header: { type: 'string', value: 'NAME=VALUE', multiple: true, describe: 'send this header to the URL; ${env:NAME} stands for a variable' },
    ca: { type: 'string', value: 'FILE', describe: 'believe these authorities (PEM) instead of the usual ones' },
    env: { type: 'string', value: 'NAME=VALUE', multiple: true, describe: 'set this variable for the command; ${env:NAME} stands for one of ours' },
  }),
  ...about('Rules', {
    policy: { type: 'string', value: 'NAME|FILE', describe: 'observe, standard (default), strict, compat, or a policy file' },
    rule: { type: 'string', value: 'ID=ACTION', multiple: true, describe: 'another action for one rule: off, log, demote, mend or block' },
    trust: { type: 'boolean', describe: 'believe the annotations of this server' },
    'trust-list': { type: 'string', value: 'FILE', describe: 'file that lists the trusted servers' },
  }),
  ...about('Log', {
    audit: { type: 'string', value: 'FILE|-|none', describe: 'audit log: a file, the standard stream to spare, or none' },
    'log-level': { type: 'string', value: 'LEVEL', choices: logLevels, describe: 'least severe message on stderr (default: warn)' },
  }),
}

/** Those of the commands that stand between a client and a server. */
export const relayFlags: Flags = {
  ...sharedFlags,
  ...about('Log', {
    'audit-keep-days': {
      type: 'string', value: 'DAYS', unit: 'pieces', key: 'audit.keepDays', describe: 'remove audit logs so many days after they were last written; 0: never (default: 30)',
    },
    'audit-keep-bytes': {
      type: 'string', value: 'BYTES', unit: 'pieces', key: 'audit.keepBytes', describe: 'keep so many bytes of audit logs for each server; 0: no limit (default: 1000000000)',
    },
    capture: { type: 'string', value: 'FILE', describe: 'keep every message, payloads included, for `replay` and `learn`' },
  }),
  ...about('Lock', {
    lock: { type: 'string', value: 'FILE', describe: 'hold the server to what was accepted in this lock file' },
    frozen: { type: 'boolean', describe: 'judge calls by the lock alone, before anything is listed' },
    'trust-accepted': { type: 'boolean', describe: 'believe the annotations in the lock also where they were accepted by --yes' },
  }),
  ...about('Requests', {
    'request-timeout': { type: 'string', value: 'SECONDS', unit: 'seconds', key: 'limits.requestMs', describe: 'longest wait for an answer; 0: no limit (default)' },
    grace: { type: 'string', value: 'SECONDS', unit: 'seconds', key: 'sessions.graceMs', describe: 'how long what was asked may take after the client, or serve itself, has come to its end (default: 30)' },
  }),
}

export interface SharedFlags {
  readonly config: string | undefined
  readonly server: string | undefined
  readonly header: readonly string[]
  readonly ca: string | undefined
  readonly env: readonly string[]
  readonly policy: string | undefined
  readonly rule: readonly string[]
  readonly trust: boolean
  readonly trustList: string | undefined
  readonly audit: string | undefined
  readonly capture: string | undefined
  readonly logLevel: LogLevel
  readonly tokenFile: string | undefined
  readonly lock: string | undefined
  readonly frozen: boolean
  readonly trustAccepted: boolean
  /** What the other flags say, as a configuration would. */
  readonly settings: Settings
}

/** The server that the arguments name: a command line, or a URL. */
export interface Target {
  readonly command: readonly string[] | undefined
  readonly url: string | undefined
  /** What stands for a server that is not reached: what it once said (`inspect`). */
  readonly file?: string | undefined
}

/** @throws CustomsError BAD_USAGE */
export const readFlags = (flags: Flags, given: Given): SharedFlags => ({
  config: text(given, 'config'),
  server: text(given, 'server'),
  header: texts(given, 'header'),
  ca: text(given, 'ca'),
  env: texts(given, 'env'),
  policy: text(given, 'policy'),
  rule: texts(given, 'rule'),
  trust: given.get('trust') === true,
  trustList: text(given, 'trust-list'),
  tokenFile: text(given, 'token-file'),
  lock: text(given, 'lock'),
  frozen: given.get('frozen') === true,
  trustAccepted: given.get('trust-accepted') === true,
  audit: text(given, 'audit'),
  capture: text(given, 'capture'),
  logLevel: logLevels.find(one => one === text(given, 'log-level')) ?? 'warn',
  settings: readSettings(flags, given),
})

export const readTarget = ({ words, command }: Rest): Target => ({ command, url: words[0] })

export const serveFlags: Flags = {
  ...relayFlags,
  ...about('Clients', {
    listen: { type: 'string', value: 'ADDRESS', key: 'listen', describe: 'HOST:PORT (0 picks a port) or unix:PATH[?mode=660] (default: 127.0.0.1:7400)' },
    'allow-host': { type: 'string', value: 'HOST', multiple: true, key: 'allowHosts', describe: 'accept this Host header too, beside the loopback names' },
    'allow-origin': { type: 'string', value: 'ORIGIN', multiple: true, key: 'allowOrigins', describe: 'accept web pages of this Origin' },
    'token-file': { type: 'string', value: 'FILE', describe: 'bearer tokens, one a line, one of which a client must show' },
    admin: { type: 'string', value: 'HOST:PORT', key: 'admin', describe: 'where to serve /healthz, /readyz, /metrics and the live page (default: nowhere)' },
  }),
  ...about('Processes', {
    workers: { type: 'string', value: 'NUMBER', unit: 'pieces', key: 'workers', describe: 'how many relay processes stand in front of each server; a session stays with one of them (default: 1)' },
  }),
  ...about('Sessions', {
    'max-sessions': { type: 'string', value: 'NUMBER', unit: 'pieces', key: 'sessions.max', describe: 'most sessions of a server at a time (default: 1000)' },
    idle: { type: 'string', value: 'SECONDS', unit: 'seconds', key: 'sessions.idleMs', describe: 'how long a session is kept in which nothing happens (default: 1800)' },
  }),
}
