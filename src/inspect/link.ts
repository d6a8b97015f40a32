import { StringDecoder } from 'node:string_decoder'
import type { SchemaChecker } from '../core/check.js'
import type { Entry } from '../core/event.js'
import { type Action, actionOf, maxKept, type Policy } from '../core/findings.js'
import type { ToolSetting } from '../core/options.js'
import type { CustomsError } from '../errors.js'
import { type OpenServer, openSession } from '../gateway/open.js'
import type { Session } from '../gateway/session.js'
import type { FrameLimits } from '../protocol/frame.js'
import { type RuleName, ruleNames } from '../rules/index.js'
import type { Transport } from '../transport/transport.js'
import { InspectClient } from './client.js'
import { plain } from './plain.js'

/** How to reach the server, and by what to judge it. */
export interface LinkOptions {
  readonly name: string
  /** See `watching`: the relay's, not that by which findings are weighed. */
  readonly policy: Policy
  readonly trusted: boolean
  readonly tools: ReadonlyMap<string, ToolSetting>
  readonly limits: FrameLimits & { readonly tools: number }
  readonly listMs: number
  readonly checker: SchemaChecker
  readonly audit: (entry: Entry) => void
  /** A connection of its own: for a process, a fresh one. */
  readonly openServer: (...known: Parameters<OpenServer>) => ServerEnd
  /** Numbers in results have all their digits (see `markLongNumbers`). */
  readonly exact?: boolean | undefined
}

export type ServerEnd = Transport & {
  /** Why there never was a connection. */
  readonly failure?: CustomsError | undefined
}

/** A server may say what breaks a rule as often as it likes: so often it is kept. */
const mostAlike = 1000

/**
 * Of one frame: a list of thousands of tools may give as many reasons for advice, and none of them may bury
 * what is worse.
 */
const maxFindings = 100_000

/** One connection to the server, through a relay that only watches. */
export interface Link {
  readonly client: InspectClient
  /** Why there never was a connection. */
  readonly failure: CustomsError | undefined
  readonly session: Session
  /** Every record so far in which something was found. */
  readonly entries: readonly Entry[]
  close(): Promise<void>
}

export const openLink = (options: LinkOptions): Link => {
  const { limits, audit, openServer, ...guard } = options
  const entries: Entry[] = []
  const isNew = atMost(mostAlike)
  const client = new InspectClient(limits, options.exact)
  let server: ServerEnd | undefined
  const session = openSession(
    {
      ...guard,
      requestMs: 0,
      maxTools: limits.tools,
      maxFindings,
      intent: false,
      audit: (entry): undefined => {
        audit(forRecord(entry))
        if (entry.findings.length > 0 && isNew(entry)) entries.push(entry)
      },
    },
    client,
    inputSchemaOf => (server = openServer(inputSchemaOf)),
  )
  session.start()
  return {
    client,
    session,
    entries,
    get failure() {
      return server?.failure
    },
    async close() {
      session.stop()
      const { failure } = await session.ended
      if (failure !== undefined) throw failure
    },
  }
}

const forRecord = (entry: Entry): Entry => {
  const { findings, more = 0 } = entry
  const over = findings.length - maxKept
  return over <= 0 ? entry : { ...entry, findings: findings.slice(0, maxKept), more: more + over }
}

/** Whether no more than so many have broken the same rules. */
const atMost = (most: number): ((entry: Entry) => boolean) => {
  const seen = new Map<string, number>()
  return ({ findings }) => {
    const alike = [...new Set(findings.map(({ rule }) => rule))].sort().join()
    const count = (seen.get(alike) ?? 0) + 1
    seen.set(alike, count)
    return count <= most
  }
}

/**
 * The policy of the relay that inspects: everything is found and nothing is changed, so that the definitions
 * are seen as the
 * server sent them. Two things are kept from passing all the same: what cannot be read as the answer to a
 * request (it would
 * never be answered), and a call that the operator's policy would not let through to the server. That a
 * server that nobody trusts
 * has annotations is not looked for: it is told once, and is no fault.
 */
export const watching = (policy: Policy): Policy =>
  new Map(ruleNames.map(rule => [rule, watch(rule, actionOf(policy, rule))]))

const watch = (rule: RuleName, action: Action): Action => {
  if (rule === 'tool/annotations') return 'off'
  if (rule.startsWith('wire/') && rule !== 'wire/ambiguous') return 'block'
  return rule.startsWith('call/') || action === 'off' ? action : 'log'
}

const mostLines = 20
const mostCharacters = 16_384

/** The last lines that a server wrote to its stderr: of interest when it fails. */
export class StderrTail {
  readonly #decoder = new StringDecoder('utf8')
  #text = ''

  readonly hear = (chunk: Buffer): void => {
    this.#text = (this.#text + this.#decoder.write(chunk)).slice(-mostCharacters)
  }

  /** Another process begins. */
  clear(): void {
    this.#text = ''
  }

  /** Fit for a terminal. */
  get lines(): readonly string[] {
    const lines = this.#text.split(/[\r\n]+/).map(line => plain(line, 200))
    return lines.filter(line => line !== '').slice(-mostLines)
  }
}
