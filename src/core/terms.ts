import { isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'
import type { Request } from '../protocol/json-rpc.js'
import { clip } from '../protocol/quote.js'
import { nearest, traitsOf, type Revision } from '../protocol/revision.js'
import { inMeta } from '../protocol/meta.js'

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

  /** @param seen false where a handshake may have taken place elsewhere */
  constructor(seen: boolean) {
    this.#terms = { revision: unknownRevision, capabilities: seen ? {} : undefined, client: undefined }
  }

  get terms(): Terms {
    return this.#terms
  }

  /** @param headers of the HTTP request that carried it: without a session, they alone name a legacy revision */
  termsOf(request: Request, headers?: ReadonlyMap<string, string>): Terms {
    const version = inMeta(request.params, 'protocolVersion')
    if (!isString(version)) return this.legacyTerms(headers)
    return {
      revision: nearest(version),
      capabilities: objectOr(inMeta(request.params, 'clientCapabilities')),
      client: implementation(inMeta(request.params, 'clientInfo')),
    }
  }

  /** The terms of what does not carry its own. */
  legacyTerms(headers?: ReadonlyMap<string, string>): Terms {
    const named = headers?.get('mcp-protocol-version')
    return this.#agreed || named === undefined ? this.#terms : { ...this.#terms, revision: legacy(named) }
  }

  /** The client's `initialize`: who it is and what it can do. */
  offered(params: JsonObject | undefined): void {
    const asked = member(params, 'protocolVersion')
    this.#terms = {
      // Until the server says what it speaks, by what the client asked for.
      revision: isString(asked) ? legacy(asked) : this.#terms.revision,
      capabilities: objectOr(member(params, 'capabilities')),
      client: implementation(member(params, 'clientInfo')),
    }
  }

  /** The server's answer to it: the revision that both speak from now on. */
  agreed(result: JsonObject): void {
    const version = member(result, 'protocolVersion')
    if (!isString(version)) return
    this.#agreed = true
    this.#terms = { ...this.#terms, revision: legacy(version) }
  }
}

const objectOr = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})

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
