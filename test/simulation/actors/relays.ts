import { endingSignals } from '#relay/base/platform/programs.js'
import type { RelayChild } from '#relay/transport/process/relay.js'
import { serveAsRelay } from '#relay/host/serve/relay-process.js'
import { Owner } from '../clock.js'
import type { End } from '../pipe.js'
import type { Gateway } from '../worlds/gateway.js'
import type { Action, Actor } from '../world.js'

interface Relay {
  readonly name: string
  readonly owner: Owner
  readonly told: ((how: string) => void)[]
  readonly near: End
  isOver: boolean
}

/** The relay processes of a gateway: they stall and die. */
export class RelayProcesses implements Actor {
  readonly #world: Gateway
  readonly #all: Relay[] = []
  #last = 0
  /** One has died or stalled. */
  hasFailed = false
  readonly #fails: boolean

  constructor(world: Gateway) {
    this.#world = world
    this.#fails = world.setting.is(0.25)
  }

  /** One has yet to hear what the front has told it. */
  get isBehind(): boolean {
    return this.#all.some(({ near, isOver }) => !isOver && (near.peer?.unread ?? 0) > 0)
  }

  start(): RelayChild {
    this.#last += 1
    const name = `relay${this.#last}`
    const owner = new Owner(name)
    const world = this.#world
    const [near, far] = world.connect(`channel of ${name}`, [world.main, 'channel'], [owner, 'channel'])
    const relay: Relay = { name, owner, told: [], near, isOver: false }
    this.#all.push(relay)
    world.soon(`${name} begins`, owner, () => {
      serveAsRelay(far).then(() => this.#over(relay, 0, null), () => this.#over(relay, 1, null))
    })
    return {
      pid: 4_900_000 + this.#last, channel: near, maxBytes: Infinity, residentBytes: () => 0,
      onGone: gone => void relay.told.push(gone),
      kill: () => world.soon(`${name} is killed`, world.main, () => this.#over(relay, null, 'SIGKILL'), true),
    }
  }

  /** The end of a process takes its listeners away. */
  close(): void {
    if (this.#last === 0) return
    for (const signal of endingSignals)
      for (const listener of process.listeners(signal).slice(-this.#last)) process.off(signal, listener)
  }

  #over(relay: Relay, code: number | null, signal: NodeJS.Signals | null): void {
    if (relay.isOver) return
    relay.isOver = true
    if (signal === null) relay.owner.end()
    relay.owner.isDead = true
    if (signal !== null) {
      this.hasFailed = true
      for (const upstream of this.#world.upstreams.values()) upstream.cut(relay.owner)
      for (const asked of this.#world.book.asked.values()) if (!asked.isAnswered) asked.isLoose = true
    }
    const how = signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`
    const tell = () => this.#world.clock.as(this.#world.main, () => relay.told.forEach(gone => gone(how)))
    // What it has written is read before its end is known.
    if (relay.near.destroyed) tell()
    else relay.near.once('close', () => this.#world.soon(`${relay.name} is gone`, this.#world.main, tell, true))
    relay.near.peer?.destroy()
    this.#world.clock.as(this.#world.main, () => {
      while (relay.near.isDue) relay.near.deliver()
    })
  }

  actions(): readonly Action[] {
    if (!this.#fails) return []
    return this.#all.filter(({ isOver }) => !isOver).flatMap(relay => {
      const { name, owner } = relay
      return [
        owner.isStalled
          ? { label: `${name} goes on`, weight: 0.2, act: () => void (owner.isStalled = false) }
          : { label: `${name} stalls`, weight: 0.15, act: () => {
              owner.isStalled = true
              this.hasFailed = true
              for (const asked of this.#world.book.asked.values()) if (!asked.isAnswered) asked.isLoose = true
            } },
        { label: `${name} dies`, weight: 0.05, act: () => this.#over(relay, null, 'SIGKILL') },
      ]
    })
  }

  rest(): readonly Action[] {
    const stalled = this.#all.find(({ owner, isOver }) => owner.isStalled && !isOver)
    return stalled === undefined ? [] : [
      { label: `${stalled.name} goes on`, weight: 1, act: () => void (stalled.owner.isStalled = false) },
    ]
  }
}
