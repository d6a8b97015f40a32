import { stdioExchange } from '#relay/core/event.js'
import { DirectServer } from './direct.js'
import type { Received } from './server.js'

/** A server of 2026-07-28 only, over stdio. */
export class ModernServer extends DirectServer {
  protected override answer(to: Received, message: object): void {
    const { id, method } = to.message
    const data = { supported: ['2026-07-28'], requested: '2025-11-25' }
    super.answer(to, method === 'initialize' ? { id, error: { code: -32022, message: 'no', data } } : message)
  }

  /** The client does not hear what its era does not know. */
  protected override heard(result: object): object {
    return { ...result, resultType: undefined }
  }

  protected override announce(): void {
    for (const { message: { method, id }, answers, isCancelled } of this.open) {
      if (method !== 'subscriptions/listen' || answers === 0 || isCancelled) continue
      this.tools.told.set('session', this.book.step)
      this.changed(stdioExchange, 'c1', { 'io.modelcontextprotocol/subscriptionId': id })
    }
  }

  /** The client waits for its handshake as long as the relay does, which is longer than a history. */
  protected override mayForget(one: Received): boolean {
    return one.message.method !== 'server/discover'
  }
}
