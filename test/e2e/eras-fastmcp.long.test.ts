import { fileURLToPath } from 'node:url'
import { StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t from 'tap'
import { installed } from '../installed.js'
import { waysOf } from './era-peers.js'
import { modernPeer, modernSteps } from './era-steps-modern.js'

/** What a server of fastmcp 4.20 does not have; it asks for roots outside of any call. */
const missing: ReadonlySet<string> = new Set([
  'a prompt that asks the user', 'an unknown resource', 'roots', 'three questions at once',
  'a URL that is asked for by an error', 'list_changed', 'resources/subscribe, an update, and the end',
])

const folder = installed('fastmcp@4.20.16')
const fixture = fileURLToPath(new URL('../../test/fixtures/eras/fastmcp.mjs', import.meta.url))
const program = [process.execPath, fixture, folder ?? '']
const { ways } = waysOf<Transport>(
  { stdio: StdioClientTransport, http: StreamableHTTPClientTransport },
  { stdio: program, http: [...program, '--http'] },
)

for (const [way, open] of Object.entries(ways)) {
  const skip = folder === undefined && 'fastmcp could not be installed'
  void t.test(`a client of 2026-07-28 and a server of fastmcp, ${way}`, { skip }, async t => {
    const peer = modernPeer(t, await open(t, ['--translate', 'both', '--audit', 'none']), way.startsWith('HTTP'))
    for (const [name, step] of Object.entries(modernSteps)) {
      if (!missing.has(name)) await t.test(name, async t => {
        await step({ ...peer, t })
      })
    }
    await peer.client.close()
  })
}
