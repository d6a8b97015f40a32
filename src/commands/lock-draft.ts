import type { Comparison } from '../inspect/diff-report.js'
import { CustomsError } from '../errors.js'
import { acceptAll, compareServers, type Listed, type Locked } from '../lock/lock.js'
import { isSame } from '../lock/compare.js'
import { settledIdentity } from './lock-identity.js'
import { readLockFile, writeLock, type LockFile } from './lock-file.js'

/** The lock files of one run, and what each is to hold once that is accepted. */
export class Drafts {
  readonly #drafts = new Map<string, Draft>()

  /** @throws CustomsError BAD_CONFIG */
  async of(file: string): Promise<Draft> {
    const draft = this.#drafts.get(file) ?? new Draft(file, await readLockFile(file))
    this.#drafts.set(file, draft)
    return draft
  }

  get changed(): readonly Draft[] {
    return [...this.#drafts.values()].filter(({ isChanged }) => isChanged)
  }
}

export class Draft {
  readonly #proposed = new Map<string, Locked>()
  #isChanged = false

  /** @param locked undefined where there is no such file */
  constructor(readonly file: string, readonly locked: LockFile | undefined) {}

  get isChanged(): boolean {
    return this.#isChanged
  }

  /** What was accepted of a server before. */
  before(name: string): Locked | undefined {
    return this.locked?.lock.get(name)
  }

  /**
   * @param target the server, in the operator's words
   * @param acceptedBy who will have accepted it; a person is shown all that no person has accepted
   * @returns in what it differs from what was accepted
   * @throws CustomsError BAD_CONFIG where another server of that name is to be locked in the same file
   */
  propose(name: string, target: string, listed: Listed, acceptedBy: Locked['acceptedBy']): Comparison {
    const before = this.before(name)
    const offered = acceptAll({ ...listed, identity: settledIdentity(before?.identity ?? {}, listed.identity) }, acceptedBy)
    const other = this.#proposed.get(name)
    if (other !== undefined && !isSame(other.identity, offered.identity)) {
      throw new CustomsError('BAD_CONFIG', `${name}: another server of this name is locked in ${this.file}: give one of them a lock of its own`)
    }
    const known = acceptedBy === 'person' && before?.acceptedBy === '--yes' ? undefined : before
    const changes = compareServers(known, { identity: offered.identity, offers: listed.offers })
    // A server without anything to compare is new all the same. Where nothing changed, who accepted it has not changed either.
    const isChanged = changes.length > 0 || known === undefined
    this.#isChanged ||= isChanged
    this.#proposed.set(name, isChanged || before === undefined ? offered : before)
    return { before: this.file, after: `${name} (${target})`, changes, incomparable: [] }
  }

  /** @throws CustomsError BAD_CONFIG */
  async write(): Promise<void> {
    await writeLock(this.file, this.locked?.bytes, new Map([...(this.locked?.lock ?? []), ...this.#proposed]))
  }
}
