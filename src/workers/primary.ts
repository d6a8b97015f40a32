import cluster, { type Worker } from 'node:cluster'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CustomsError } from '../errors.js'
import type { Failure, PrimaryCalls, Role, SessionName, WorkerCalls } from './calls.js'
import { Channel, type Message } from './channel.js'
import { roleVariable } from './role.js'

export interface WorkersOptions {
  readonly count: number
  readonly warn: (message: string) => void
  /** They cannot go on: the whole is to end. */
  readonly failed: (error: Error) => void
  /** What workers have for the live page. */
  readonly records: (records: readonly object[]) => void
  /** A worker is gone, by its number. */
  readonly gone: (number: number) => void
}

interface Member {
  readonly number: number
  readonly process: Worker
  readonly channel: Channel<WorkerCalls>
  readonly begunAt: number
  isReady: boolean
  /** Why it could not begin, or not end well, in its own words. */
  failure: Error | undefined
}

/** Who ends so soon, in milliseconds, has not lived; so many in a row are no accident. */
const shortMs = 5000
const mostShort = 5
/** Between two attempts at most, in milliseconds. */
const longestPauseMs = 30_000

/** The processes that share the address, started and replaced; what is known of their sessions, they know. */
export class Workers {
  readonly #options: WorkersOptions
  readonly #folder = mkdtempSync(join(tmpdir(), 'mcp-customs-'))
  readonly #members = new Map<number, Member>()
  /** The last that asked for each session: one is answered after the other, so that two never begin the same. */
  readonly #asking = new Map<string, Promise<unknown>>()
  #short = 0
  #hurries = 0
  #failed = false
  #failure: Error | undefined
  /** Attempts to begin that failed, one after the other. */
  #attempts = 0
  #url: string | undefined
  #started: (url: string) => void = () => undefined
  #settle: () => void = () => undefined
  /** Rejects with what the first that failed at its end has said. */
  readonly #ended = new Promise<void>((resolve, reject) => (this.#settle = () => (this.#failure ? reject(this.#failure) : resolve())))

  constructor(options: WorkersOptions) {
    this.#options = options
  }

  /** Resolves with where they listen when all of them do; never, when one cannot. */
  start(): Promise<string> {
    for (let number = 1; number <= this.#options.count; number += 1) this.#fork(number)
    return new Promise(resolve => (this.#started = resolve))
  }

  /** Of each that accepts connections: its number, and what it answers; those that end meanwhile are left out. */
  async ask<Name extends 'servers' | 'counted'>(name: Name): Promise<ReadonlyMap<number, Awaited<ReturnType<WorkerCalls[Name]>>>> {
    const answers = await Promise.allSettled(this.#ready().map(async ({ number, channel }) => [number, await channel.call(name, undefined)] as const))
    return new Map(answers.flatMap(answer => (answer.status === 'fulfilled' ? [answer.value] : [])))
  }

  /** Each reads the configuration again. @throws Error what one of them has against it */
  async reload(): Promise<void> {
    await Promise.all(this.#ready().map(({ channel }) => channel.call('reload', undefined)))
  }

  /** Has them end. @param urgency 1 is polite; each more is in more of a hurry */
  async stop(urgency: number): Promise<void> {
    for (; this.#hurries < urgency; this.#hurries += 1) for (const member of this.#members.values()) hurry(member)
    this.#endIfLast()
    await this.#ended
  }

  /** Ends what does not by itself. */
  kill(): void {
    for (const { process } of this.#members.values()) process.process.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #ready(): readonly Member[] {
    return [...this.#members.values()].filter(({ isReady }) => isReady)
  }

  #fork(number: number): void {
    const role: Role = { number, count: this.#options.count, folder: this.#folder }
    const process = cluster.fork({ [roleVariable]: JSON.stringify(role) })
    const calls: PrimaryCalls = {
      ready: url => this.#readied(member, url),
      failed: failure => {
        member.failure = errorOf(failure)
      },
      whose: session => this.#whose(number, session),
      records: records => this.#options.records(records),
    }
    const channel = new Channel<WorkerCalls>(message => void process.send(message), calls)
    const member: Member = { number, process, channel, begunAt: performance.now(), isReady: false, failure: undefined }
    this.#members.set(number, member)
    process.on('message', (message: Message) => channel.heard(message))
    // Its pipe breaks with it: that is told by its exit.
    process.on('error', () => undefined)
    process.on('exit', (code, signal) => this.#gone(member, signal || `exit code ${code}`))
    for (let told = 0; told < this.#hurries; told += 1) hurry(member)
  }

  #readied(member: Member, url: string): void {
    member.isReady = true
    this.#attempts = 0
    this.#url ??= url
    if (this.#ready().length === this.#options.count) this.#started(this.#url)
  }

  #gone(member: Member, how: string): void {
    const { number, process, channel, begunAt, failure } = member
    this.#members.delete(number)
    channel.close()
    this.#options.gone(number)
    if (this.#hurries > 0 || this.#failed) {
      this.#failure ??= failure
      return this.#endIfLast()
    }
    if (failure) return this.#cannotBegin(number, failure)
    this.#short = performance.now() - begunAt < shortMs ? this.#short + 1 : 0
    if (this.#short >= mostShort) return this.#fail(new CustomsError('CANNOT_START', `workers end as soon as they are started: ${mostShort} in a row, the last by ${how}`))
    this.#options.warn(`worker ${number} (process ${process.process.pid}) has ended by ${how}: its sessions are over, and another takes its place`)
    this.#fork(number)
  }

  /** What stands in its way, such as a file that is being edited, may go away; as long as others serve, nobody is in a hurry. */
  #cannotBegin(number: number, failure: Error): void {
    if (this.#url === undefined || this.#ready().length === 0) return this.#fail(failure)
    const pauseMs = Math.min(1000 * 2 ** this.#attempts, longestPauseMs)
    this.#attempts += 1
    this.#options.warn(`worker ${number} cannot be started, which is tried again: ${failure.message}`)
    setTimeout(() => {
      if (this.#hurries === 0 && !this.#failed) this.#fork(number)
    }, pauseMs).unref()
  }

  #fail(error: Error): void {
    if (this.#failed) return
    this.#failed = true
    this.#options.failed(error)
  }

  #endIfLast(): void {
    if (this.#members.size > 0) return
    rmSync(this.#folder, { recursive: true, force: true })
    this.#settle()
  }

  #whose(asker: number, session: SessionName): Promise<number> {
    const key = JSON.stringify([session.path, session.session])
    const before = this.#asking.get(key)
    const answer = (before ?? Promise.resolve()).then(() => this.#holderOf(session)).then(holder => holder ?? asker)
    this.#asking.set(key, answer)
    return answer.finally(() => {
      if (this.#asking.get(key) === answer) this.#asking.delete(key)
    })
  }

  async #holderOf(session: SessionName): Promise<number | undefined> {
    const holders = await Promise.all(this.#ready().map(async ({ number, channel }) => {
      const holds = await channel.call('holds', session).catch(() => false)
      return holds ? number : undefined
    }))
    return holders.find(number => number !== undefined)
  }
}

const hurry = ({ channel }: Member): void => void channel.call('hurry', undefined).catch(() => undefined)

const errorOf = ({ code, message }: Failure): Error => (code === undefined ? new Error(message) : new CustomsError(code, message))
