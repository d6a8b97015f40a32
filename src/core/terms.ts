import { isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'
import type { Request } from '../protocol/json-rpc.js'
import { clip } from '../protocol/quote.js'
import { nearest, traitsOf, type Revision } from '../protocol/revision.js'
import { inMeta, metaPrefix } from '../protocol/methods.js'

/** Who asks, and by which revision and capabilities one request is to be judged. */
export interface Terms {
  readonly revision: Revision
  /** What the client declared; undefined where that was not seen. */
  readonly capabilities: JsonObject | undefined
  readonly client: Implementation | undefined
}

export interface Implementation {
  readonly name: string
  readonly version: string
}

/** Before any handshake a session is read by the newest legacy revision: a modern request says itself what it is. */
const unknownRevision: Revision = '2025-11-25'

/** What the handshake of a legacy session agreed on; a modern request carries its own terms. */
export class Handshake {
  #agreed = false
  #terms: Terms
  readonly #stateless: boolean

  /**
   * @param seen false where a handshake may have taken place elsewhere
   * @param stateless true where many clients speak, each with a handshake of its own or none: nothing is kept of one
   */
  constructor(seen: boolean, stateless: boolean) {
    this.#terms = { revision: unknownRevision, capabilities: seen ? {} : undefined, client: undefined }
    this.#stateless = stateless
  }

  get terms(): Terms {
    return this.#terms
  }

  /** @param headers of the HTTP request that carried it: without a session, they alone name a legacy revision */
  termsOf(request: Request, headers?: ReadonlyMap<string, string>): Terms {
    const { method, params } = request
    const version = inMeta(params, 'protocolVersion')
    if (isString(version)) {
      return {
        revision: nearest(version),
        capabilities: declaredIn(inMeta(params, 'clientCapabilities')),
        client: implementation(inMeta(params, 'clientInfo')),
      }
    }
    return method === 'initialize' ? this.#offered(params) : this.legacyTerms(headers)
  }

  /** The terms of what does not carry its own. */
  legacyTerms(headers?: ReadonlyMap<string, string>): Terms {
    const named = headers?.get('mcp-protocol-version')
    return this.#agreed || named === undefined ? this.#terms : { ...this.#terms, revision: legacy(named) }
  }

  /** The server's answer to `initialize`: the revision that both speak from now on. */
  agreed(result: JsonObject): void {
    const version = member(result, 'protocolVersion')
    if (!isString(version) || this.#stateless) return
    this.#agreed = true
    this.#terms = { ...this.#terms, revision: legacy(version) }
  }

  /** The client's `initialize`: who it is and what it can do. */
  #offered(params: JsonObject | undefined): Terms {
    const asked = member(params, 'protocolVersion')
    const offered = {
      // Until the server says what it speaks, by what the client asked for.
      revision: isString(asked) ? legacy(asked) : this.#terms.revision,
      capabilities: declaredIn(member(params, 'capabilities')),
      client: implementation(member(params, 'clientInfo')),
    }
    if (!this.#stateless) this.#terms = offered
    return offered
  }
}

/** The capabilities that anything is judged by; of what a client declares nothing else is kept. */
interface Known {
  readonly [capability: string]: Known
}

const knownCapabilities: Known = {
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  roots: {},
  tasks: { requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
  extensions: { [`${metaPrefix}tasks`]: {} },
}

const declaredIn = (value: Json | undefined): JsonObject => (isObject(value) ? kept(value, knownCapabilities) : {})

const kept = (declared: JsonObject, known: Known): JsonObject =>
  Object.fromEntries(Object.entries(known).flatMap(([name, inner]) => {
    const value = member(declared, name)
    return value === undefined ? [] : [[name, isObject(value) ? kept(value, inner) : null]]
  }))

/** A handshake never agrees on a revision that has none. */
const legacy = (version: string): Revision => {
  const revision = nearest(version)
  return traitsOf(revision).modern ? unknownRevision : revision
}

const implementation = (value: unknown): Implementation | undefined => {
  if (!isObject(value)) return undefined
  const name = member(value, 'name')
  const version = member(value, 'version')
  return { name: isString(name) ? clip(name) : '', version: isString(version) ? clip(version) : '' }
}
