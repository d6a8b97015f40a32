import { errorFrame } from '#relay/core/refusal.js'
import type { Frame } from '#relay/protocol/frame.js'
import { isString, member, valueAt } from '#relay/protocol/json.js'
import { errorCode } from '#relay/protocol/json-rpc.js'
import {
  isRevision, metaPrefix, modernRevisions, newestLegacy, traitsOf,
} from '#relay/protocol/revisions/index.js'
import { responseOf, type RequestFrame } from './frames.js'
import type { Leg } from './leg.js'
import type { Legs } from './legs.js'
import type { Host } from './machine.js'

/** How long the answer to the client's first request waits for the servers, in milliseconds. */
const greetMs = 1000
const discoverMs = 5000

/** Most characters of the instructions of one server, and of all. */
const longestInstructions = 8 * 1024
const longestOfAll = 32 * 1024

/** Answers the requests that ask what the server behind the endpoint can do. */
export class Hello {
  readonly #host: Host
  readonly #legs: Legs

  constructor(host: Host, legs: Legs) {
    this.#host = host
    this.#legs = legs
  }

  /** A server that has not answered in time is reported by `list_changed` when it comes. */
  initialize(frame: RequestFrame, answer: (frame: Frame) => void): void {
    const { message } = frame
    if (this.#legs.isLegacy) {
      return answer(errorFrame(message, errorCode.invalidRequest, 'The session has begun already'))
    }
    this.#legs.begin(frame)
    const wanted = member(message.params, 'protocolVersion')
    const isLegacy = isString(wanted) && isRevision(wanted) && !traitsOf(wanted).modern
    const waitMs = Math.min(greetMs, this.#host.options.listMs)
    this.#each((leg, done) => this.#legs.whenKnown(leg, waitMs, done), () => {
      this.#legs.hasAnswered = true
      answer(responseOf(message, {
        protocolVersion: isLegacy ? wanted : newestLegacy,
        ...this.#abilities(),
        serverInfo: this.#host.options.serverInfo,
      }))
    })
  }

  /**
   * Where a server refuses, a client of both eras does better with `initialize`: servers of the other era are
   * translated for that.
   */
  discover(frame: RequestFrame, answer: (frame: Frame) => void): void {
    const { message } = frame
    const { translates, serverInfo, listMs } = this.#host.options
    // The client stays in the era that it finds here, so this may take longer than `initialize`.
    this.#each((leg, done) => this.#legs.whenKnown(leg, Math.min(discoverMs, listMs), done), () => {
      const legs = this.#legs.all()
      const refusing = legs.filter(({ isOfOtherEra }) => isOfOtherEra).map(({ name }) => name)
      if (refusing.length > 0 && (translates || refusing.length === legs.length)) {
        return answer(errorFrame(message, errorCode.methodNotFound,
          `Method not found: ${refusing.join(', ')} speak no revision without a handshake`))
      }
      answer(responseOf(message, {
        resultType: 'complete', supportedVersions: modernRevisions, ...this.#abilities(),
        ttlMs: 0, cacheScope: 'private', _meta: { [`${metaPrefix}serverInfo`]: serverInfo },
      }))
    })
  }

  #each(act: (leg: Leg, done: () => void) => void, finish: () => void): void {
    const legs = this.#legs.all()
    let left = legs.length
    if (left === 0) return finish()
    for (const leg of legs) {
      act(leg, () => {
        if ((left -= 1) === 0) finish()
      })
    }
  }

  /** What any server can do. What a server lists that is not known yet is announced too: it may come. */
  #abilities() {
    const legs = this.#legs.all()
    const any = (name: string, isKnown: boolean) => legs.some(({ capabilities }) =>
      (capabilities === undefined ? !isKnown : member(capabilities, name) !== undefined))
    const list = { listChanged: true }
    const subscribes = legs.some(({ capabilities }) => valueAt(capabilities, ['resources', 'subscribe']) === true)
    const instructions = instructionsOf(legs)
    return {
      capabilities: {
        ...(any('tools', false) && { tools: list }),
        ...(any('prompts', false) && { prompts: list }),
        ...(any('resources', false) && { resources: { ...list, ...(subscribes && { subscribe: true }) } }),
        ...(any('completions', true) && { completions: {} }),
        ...(any('logging', true) && { logging: {} }),
      },
      ...(instructions !== '' && { instructions }),
    }
  }
}

const instructionsOf = (legs: readonly Leg[]): string => {
  let text = ''
  for (const { name, instructions } of legs) {
    if (instructions === undefined || instructions === '') continue
    const part = `${text === '' ? '' : '\n\n'}# ${name}\n\n${cut(instructions, longestInstructions)}`
    text += cut(part, Math.max(0, longestOfAll - text.length))
  }
  return text
}

const cut = (text: string, longest: number): string =>
  (text.length <= longest ? text : text.slice(0, longest).replace(/[\ud800-\udbff]$/, ''))
