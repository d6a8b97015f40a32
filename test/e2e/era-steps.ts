import type { Test } from 'tap'
import { codeOf, type Content, textOf } from './era-peers.js'

/** What the clients of both SDKs can do. */
interface SharedPeer {
  readonly t: Test
  readonly client: {
    readonly listPrompts: () => Promise<{ readonly prompts: readonly unknown[] }>
    readonly listResources: () => Promise<{ readonly resources: readonly unknown[] }>
    readonly readResource: (params: { uri: string }) => Promise<object>
    readonly listResourceTemplates: () => Promise<{ readonly resourceTemplates: readonly unknown[] }>
  }
  readonly call: (
    name: string, given?: object, options?: object,
  ) => Promise<Content & { readonly structuredContent?: unknown }>
}

/** The steps that clients of both eras take alike. */
export const sharedSteps: Readonly<Record<string, (peer: SharedPeer) => Promise<void>>> = {
  'an unknown tool': async ({ t, call }) => void t.equal(await codeOf(call('none')), -32602),
  'a structured result': async ({ t, call }) => void t.same((await call('structured')).structuredContent, { sum: 3 }),
  'prompts/list': async ({ t, client }) => void t.equal((await client.listPrompts()).prompts.length, 2),
  'resources/list': async ({ t, client }) => void t.equal((await client.listResources()).resources.length, 1),
  'resources/read': async ({ t, client }) => {
    t.match(await client.readResource({ uri: 'note://one' }), { contents: [{ uri: 'note://one', text: 'one' }] })
  },
  'resources/templates/list': async ({ t, client }) => {
    t.equal((await client.listResourceTemplates()).resourceTemplates.length, 1)
  },
  'an unknown resource': async ({ t, client }) => {
    // A client of 2026-07-28 takes the -32002 of a legacy server for it.
    t.equal(await codeOf(client.readResource({ uri: 'note://none' })), -32602)
  },
  progress: async ({ t, call }) => {
    const seen: number[] = []
    await call('progress', {}, { onprogress: ({ progress }: { progress: number }) => void seen.push(progress) })
    t.same(seen, [1, 2, 3])
  },
  sampling: async ({ t, call }) => void t.equal(textOf(await call('sample')), 'sampled'),
  roots: async ({ t, call }) => void t.equal(textOf(await call('roots')), 'file:///root'),
}
