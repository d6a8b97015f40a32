import type { Server } from 'node:http'
import type { RelayChild } from './process/relay.js'
import type { CommandLine, ServerChild } from './process/spawn.js'
import type { HttpUpstream } from './upstream/pool.js'

/**
 * What this program uses of the machine that it runs on, besides time (`realTimers`). Undefined: the machine
 * itself. A simulation (test/simulation) puts its own in their place; nothing else may.
 */
export interface Machine {
  /** Makes a listener receive connections. @returns its address */
  listen?: (server: Server) => string
  /** Starts the process of a server. */
  spawnGroup?: (command: CommandLine) => ServerChild
  /** As `process.kill` of a group. @returns false when no process of the group is left */
  signalGroup?: (pid: number, signal: NodeJS.Signals | 0) => boolean
  /** Starts a relay process. */
  spawnRelay?: () => RelayChild
  /** The connections to an HTTP server. */
  httpServer?: (url: URL) => Pick<HttpUpstream, keyof HttpUpstream>
}

export const machine: Machine = {}
