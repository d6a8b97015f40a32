import { isObject, isString, type Json, type JsonObject, member, pointer } from '#relay/protocol/json.js'
import type { Envelope } from '#relay/protocol/frame.js'
import type { Request } from '#relay/protocol/json-rpc.js'
import { clip } from '#relay/protocol/quote.js'
import {
  inMeta, metaPrefix, nearest, newestLegacy, type Revision, traitsOf,
} from '#relay/protocol/revisions/index.js'

/** The client, revision and capabilities that a request is judged by. */
export interface Terms {
  readonly revision: Revision
  /** The client's capabilities; undefined when its handshake was not seen. */
  readonly capabilities: JsonObject | undefined
  readonly client: Implementation | undefined
  /** The client's own revision, where its messages are translated; for records only. */
  readonly clientRevision?: string | undefined
}

export interface Implementation {
  readonly name: string
  readonly version: string
}

/** A revision that a message is in, and the JSON Pointer to where it says so. */
export interface Spoken {
  readonly revision: Revision
  readonly path: string
}

/** HTTP requests that name no revision are of this one (2025-06-18, Transports, Protocol Version Header). */
const unnamed: Revision = '2025-03-26'

/** The terms of a legacy session, from its handshake. A modern request carries its own terms. */
export class Handshake {
  #agreed = false
  #terms: Terms
  readonly #stateless: boolean
  readonly #isSeen: boolean

  /**
   * @param seen false when a handshake may have taken place at another relay
   * @param stateless true when many clients share the relay: no handshake is remembered
   */
  constructor(seen: boolean, stateless: boolean) {
    this.#terms = { revision: newestLegacy, capabilities: seen ? {} : undefined, client: undefined }
    this.#stateless = stateless
    this.#isSeen = seen
  }

  /** Takes the terms that were agreed at another relay. */
  adopt(terms: Terms): void {
    this.#agreed = true
    this.#terms = terms
  }

  get terms(): Terms {
    return this.#terms
  }

  /** @param envelope without a session, only its headers name a legacy revision */
  termsOf(request: Request, { headers, translatedFrom }: Envelope = {}): Terms {
    const terms = this.#termsOf(request, headers)
    return translatedFrom === undefined ? terms : { ...terms, clientRevision: translatedFrom }
  }

  #termsOf({ method, params }: Request, headers?: ReadonlyMap<string, string>): Terms {
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

  /** The terms of a message that does not carry its own. */
  legacyTerms(headers?: ReadonlyMap<string, string>): Terms {
    const named = headers?.get('mcp-protocol-version')
    return this.#agreed || named === undefined ? this.#terms : { ...this.#terms, revision: legacy(named) }
  }

  /** The revision of a client's request. */
  spokenIn({ method, params }: Request, { revision }: Terms, headers?: ReadonlyMap<string, string>): Spoken {
    if (inMeta(params, 'protocolVersion') !== undefined)
      return { revision, path: pointer('params', '_meta', `${metaPrefix}protocolVersion`) }
    if (method === 'initialize') return { revision, path: '/params/protocolVersion' }
    const isUnnamed = headers?.has('mcp-protocol-version') === false && !this.#isSeen && !this.#agreed
    return { revision: isUnnamed ? unnamed : revision, path: '' }
  }

  /** Takes the revision from the server's result of `initialize`. @returns the revision that it names */
  agreed(result: JsonObject): Spoken {
    const version = member(result, 'protocolVersion')
    if (isString(version) && !this.#stateless) {
      this.#agreed = true
      this.#terms = { ...this.#terms, revision: legacy(version) }
    }
    return { revision: isString(version) ? nearest(version) : nearest(''), path: '/result/protocolVersion' }
  }

  /** Takes the client and its capabilities from `initialize`. */
  #offered(params: JsonObject | undefined): Terms {
    const asked = member(params, 'protocolVersion')
    const offered = {
      // The client's proposal counts until the server responds.
      revision: isString(asked) ? legacy(asked) : this.#terms.revision,
      capabilities: declaredIn(member(params, 'capabilities')),
      client: implementation(member(params, 'clientInfo')),
    }
    if (!this.#stateless) this.#terms = offered
    return offered
  }
}

/** Params that say these terms, where each request has to (2026-07-28, Lifecycle). */
export const metaOf = ({ revision, capabilities = {}, client }: Terms): JsonObject =>
  traitsOf(revision).modern
    ? {
        _meta: {
          [`${metaPrefix}protocolVersion`]: revision,
          [`${metaPrefix}clientCapabilities`]: capabilities,
          ...(client && { [`${metaPrefix}clientInfo`]: { name: client.name, version: client.version } }),
        },
      }
    : {}

/** The capabilities that rules use; others are not kept. */
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

const declaredIn = (value: Json | undefined): JsonObject =>
  isObject(value) ? kept(value, knownCapabilities) : {}

const kept = (declared: JsonObject, known: Known): JsonObject =>
  Object.fromEntries(Object.entries(known).flatMap(([name, inner]) => {
    const value = member(declared, name)
    return value === undefined ? [] : [[name, isObject(value) ? kept(value, inner) : null]]
  }))

/** A handshake cannot agree on a revision without handshakes. */
const legacy = (version: string): Revision => {
  const revision = nearest(version)
  return traitsOf(revision).modern ? newestLegacy : revision
}

export const implementation = (value: unknown): Implementation | undefined => {
  if (!isObject(value)) return undefined
  const name = member(value, 'name')
  const version = member(value, 'version')
  return { name: isString(name) ? clip(name) : '', version: isString(version) ? clip(version) : '' }
}
