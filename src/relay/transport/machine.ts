import type { Server } from 'node:http'
import type { RelayChild } from './process/relay.js'
import type { CommandLine, ServerChild } from './process/spawn.js'
import type { HttpUpstream } from './upstream/pool.js'

/** What a process does about the process groups that it has started. */
export interface Groups {
  /** Called when a group begins and when it ends. */
  report: (pid: number, isAlive: boolean) => void
  /**
   * Runs `act` when this process ends by an exit, an uncaught error or a signal without another listener, but
   * not by SIGKILL. Signals to this process do not reach the process groups that it has started.
   * @returns a function that cancels it
   */
  readonly atLast: (act: () => void) => () => void
}

/**
 * What this program uses of the machine that it runs on, besides time (`realTimers`). Undefined: the machine
 * itself. A simulation (test/simulation) puts its own in their place; nothing else may.
 */
export interface SimulatedMachine {
  /** Makes a listener receive connections. @returns its address */
  listen?: (server: Server) => string
  /** Starts the process of a server. */
  spawnGroup?: (command: CommandLine) => ServerChild
  /** As `process.kill` of a group. @returns false when no process of the group is left */
  signalGroup?: (pid: number, signal: NodeJS.Signals | 0) => boolean
  /** Those of the process whose code runs. */
  groups?: () => Groups
  /** Starts a relay process. */
  spawnRelay?: () => RelayChild
  /** The connections to an HTTP server. */
  httpServer?: (url: URL) => Pick<HttpUpstream, keyof HttpUpstream>
}

export const machine: SimulatedMachine = {}
