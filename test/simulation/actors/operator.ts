import type { Chance } from '../chance.js'
import { setupOf } from '../worlds/configuration.js'
import type { Gateway } from '../worlds/gateway.js'
import type { Action, Actor } from '../world.js'

type Setup = ReturnType<typeof setupOf>

/**
 * How long a reload may take, in milliseconds: a relay process may take 5 seconds for the setup before and 5
 * for this one, and is looked at each half second.
 */
const reloadMs = 11_500

/** Changes the configuration. */
export class Operator implements Actor {
  readonly #world: Gateway
  readonly #reload: (changed: Setup) => Promise<void>
  readonly #isActive: boolean
  #running: { readonly since: number; readonly step: number } | undefined
  /** By tool: the step at which it was denied for good; undefined: it is not. */
  readonly #denied = new Map<string, number>()
  /** By token: the step at which it was revoked. */
  readonly #revoked = new Map<string, number>()
  hasChangedServers = false

  constructor(world: Gateway, chance: Chance, reload: (changed: Setup) => Promise<void>) {
    this.#world = world
    this.#reload = reload
    this.#isActive = chance.is(0.4)
  }

  get hasRevoked(): boolean {
    return this.#revoked.size > 0
  }

  isRevoked(token: string | undefined): boolean {
    return this.#revoked.has(token ?? '')
  }

  isDenied(tool: string, sent: number): boolean {
    const since = this.#denied.get(tool)
    return since !== undefined && sent > since
  }

  checkToken(token: string | undefined, begun: number, status: number, who: string): void {
    const revoked = this.#revoked.get(token ?? '')
    if (revoked !== undefined && begun > revoked && status !== 401)
      this.#world.violate('reload holds', `${who}: HTTP ${status} with a token that was revoked before`)
  }

  actions(): readonly Action[] {
    this.#late()
    if (!this.#isActive || this.#running !== undefined) return []
    const { settings } = this.#world
    const actions: Action[] = []
    const denied = settings.denied.length > 0 ? [] : ['t1']
    actions.push({ label: `the operator ${denied.length > 0 ? 'denies' : 'allows'} t1`, weight: 0.3, act: () => this.#change({ denied }) })
    const [first, second] = settings.tokens
    if (first !== undefined && second !== undefined)
      actions.push({ label: 'the operator revokes token-b', weight: 0.2, act: () => this.#change({ tokens: [first] }) })
    if (!settings.servers.has('b')) actions.push({
      label: 'the operator adds a server', weight: 0.15,
      act: () => this.#change({ servers: new Map([...settings.servers, ['b', 'stdio']]) }),
    })
    return actions
  }

  rest(): readonly Action[] {
    this.#late()
    return []
  }

  #late(): void {
    if (this.#running === undefined || this.#world.clock.time - this.#running.since < reloadMs) return
    this.#world.violate('reload ends', `a reload takes longer than ${reloadMs} ms`)
    this.#running = undefined
  }

  #change(change: Partial<Gateway['settings']>): void {
    const before = this.#world.settings
    const after = { ...before, ...change }
    const step = this.#world.steps.length
    const running = { since: this.#world.clock.time, step }
    this.#running = running
    this.#world.settings = after
    this.#world.book.hasReloaded = true
    for (const token of before.tokens)
      if (!after.tokens.includes(token)) this.#revoked.set(`Bearer ${token}`, step)
    for (const tool of before.denied) if (!after.denied.includes(tool)) this.#denied.delete(tool)
    this.#reload(setupOf(after)).then(
      () => {
        if (this.#running === running) this.#running = undefined
        for (const tool of after.denied)
          if (!this.#denied.has(tool)) this.#denied.set(tool, this.#world.steps.length)
      },
      (error: unknown) => {
        if (this.#running === running) this.#running = undefined
        this.#world.violate('reload ends', `a reload fails: ${String(error)}`)
      },
    )
  }
}
