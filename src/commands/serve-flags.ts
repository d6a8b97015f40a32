import { about, type Flags } from './flag.js'
import { relayFlags } from './flags.js'

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
