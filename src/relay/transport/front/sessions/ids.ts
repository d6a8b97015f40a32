import { createHmac, timingSafeEqual } from 'node:crypto'

/** The id that a client gets. It begins with the name of a replica, by which load balancers route. */
export const namedId = (replica: string | undefined, id: string): string =>
  (replica === undefined ? id : `${replica}:${id}`)

/** @returns the name of the replica where the id was given, and the rest of the id */
export const readNamedId = (id: string): { readonly replica: string | undefined; readonly rest: string } => {
  const [, replica, rest = id] = /^([A-Za-z0-9][A-Za-z0-9._-]{0,62}):(.*)$/s.exec(id) ?? []
  return { replica, rest }
}

/**
 * Binds the session ids of an HTTP server to the client that began the session. The relay forgets sessions
 * (when it restarts, or nobody uses them), and another replica never saw them; the server knows them still.
 * So the owner is in the id that the client gets: the server's id, a dot, and a keyed hash of server, owner
 * and id. To every other client the id is no session's (2025-11-25, security best practices, session
 * hijacking: bind the id to information of the user).
 */
export class BoundIds {
  /** @param key the same at all replicas @param server the server's name: ids of others do not count */
  constructor(private readonly key: string | Uint8Array, private readonly server: string) {}

  /** The id that the client gets in place of the server's. */
  bind(id: string, owner: string): string {
    // The first word keeps these hashes apart from others that are made with the same key.
    const facts = JSON.stringify(['session id', this.server, owner, id])
    return `${id}.${createHmac('sha256', this.key).update(facts).digest('base64url')}`
  }

  /** @returns the server's id; undefined for an id that was not bound to this owner */
  read(bound: string, owner: string): string | undefined {
    const id = bound.slice(0, Math.max(0, bound.lastIndexOf('.')))
    const [shown, ours] = [Buffer.from(bound), Buffer.from(this.bind(id, owner))]
    return shown.length === ours.length && timingSafeEqual(shown, ours) ? id : undefined
  }
}
