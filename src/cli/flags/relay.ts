import { logLevels, noSettings, type RelaySettings } from '#relay/host/settings.js'
import type { Target } from '#relay/config/target.js'
import {
  about, valuesOf, type Flags, type Given, type Rest, readSettings,
} from '../flag.js'

export const translateFlag =
  { type: 'string', value: 'WHICH', choices: ['auto', 'both', 'off'], key: 'translate' } as const

/** Flags that wrap, serve, inspect and lock share (docs/commands.md). */
export const sharedFlags = {
  ...about('Server', {
    config: { type: 'string', value: 'FILE', describe: 'configuration file (YAML or JSON)' },
    server: {
      type: 'string', value: 'NAME',
      describe: 'which server of the file to use; without a file: the name of this server in the audit log',
    },
    header: {
      type: 'string', value: 'NAME=VALUE', multiple: true,
      describe: 'send this header to the URL; ${env:NAME} stands for a variable',
    },
    ca: {
      type: 'string', value: 'FILE', describe: 'trust these authorities (PEM) instead of the usual ones',
    },
    env: {
      type: 'string', value: 'NAME=VALUE', multiple: true,
      describe: 'set this variable for the command; ${env:NAME} stands for one of ours',
    },
  }),
  ...about('Rules', {
    policy: {
      type: 'string', value: 'NAME|FILE',
      describe: 'observe, standard (default), strict, compat, or a policy file',
    },
    rule: {
      type: 'string', value: 'ID=ACTION', multiple: true,
      describe: 'another action for one rule: off, log, demote, mend or block',
    },
    profile: { type: 'string', value: 'NAME', multiple: true, key: 'profile' },
    trust: { type: 'boolean', describe: 'trust the annotations of this server' },
    'trust-list': { type: 'string', value: 'FILE', describe: 'file that lists the trusted servers' },
  }),
  ...about('Log', {
    audit: {
      type: 'string', value: 'FILE|-|none',
      describe: 'audit log: a file, - (wrap: stderr; serve: stdout), or none',
    },
    'log-level': {
      type: 'string', value: 'LEVEL', choices: logLevels, default: noSettings.logLevel,
      describe: 'least severe message on stderr',
    },
  }),
} as const

/** Flags of the commands that relay: wrap and serve. */
export const relayFlags = {
  ...sharedFlags,
  ...about('Rules', {
    relax: {
      type: 'string', value: 'TOOL', multiple: true,
      describe: 'let this tool work, however careless its server is; * stands for all (the command relax)',
    },
  }),
  ...about('Log', {
    'audit-keep-days': { type: 'string', value: 'DAYS', unit: 'pieces', key: 'audit.keepDays' },
    'audit-keep-bytes': { type: 'string', value: 'BYTES', unit: 'pieces', key: 'audit.keepBytes' },
    capture: {
      type: 'string', value: 'FILE',
      describe: 'keep every message, payloads included, for `replay` and `learn`',
    },
  }),
  ...about('Lock', {
    lock: {
      type: 'string', value: 'FILE', describe: 'hold the server to what was accepted in this lock file',
    },
    frozen: { type: 'boolean', describe: 'judge calls by the lock alone, before anything is listed' },
    'trust-accepted': {
      type: 'boolean', describe: 'trust the annotations in the lock also where they were accepted by --yes',
    },
  }),
  ...about('Requests', {
    'request-timeout': { type: 'string', value: 'SECONDS', unit: 'seconds', key: 'limits.requestMs' },
    translate: translateFlag,
    grace: { type: 'string', value: 'SECONDS', unit: 'seconds', key: 'sessions.graceMs' },
  }),
} as const

export const wrapFlags = {
  ...relayFlags,
  ...about('Server', {
    merge: { type: 'boolean', describe: 'all servers of the file as one (docs/merge.md)' },
  }),
} as const

export const serveFlags = {
  ...relayFlags,
  ...about('Clients', {
    listen: { type: 'string', value: 'ADDRESS', key: 'listen' },
    'allow-host': { type: 'string', value: 'HOST', multiple: true, key: 'allowHosts' },
    'allow-origin': { type: 'string', value: 'ORIGIN', multiple: true, key: 'allowOrigins' },
    'token-file': {
      type: 'string', value: 'FILE', describe: 'bearer tokens, one a line, one of which a client must show',
    },
    facade: { type: 'boolean', key: 'auth.facade' },
    admin: { type: 'string', value: 'HOST:PORT', key: 'admin' },
  }),
  ...about('Processes', {
    workers: { type: 'string', value: 'NUMBER', unit: 'pieces', key: 'workers' },
  }),
  ...about('Sessions', {
    'max-sessions': { type: 'string', value: 'NUMBER', unit: 'pieces', key: 'sessions.max' },
    idle: { type: 'string', value: 'SECONDS', unit: 'seconds', key: 'sessions.idleMs' },
  }),
} as const

/** @throws CustomsError BAD_USAGE */
export const readFlags = (flags: Flags, given: Given): RelaySettings =>
  ({ ...valuesOf(serveFlags, given), settings: readSettings(flags, given) })

export const readTarget = ({ words, command }: Rest): Target => ({ command, url: words[0] })
