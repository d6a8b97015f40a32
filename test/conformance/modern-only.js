// The same server as server.js, for 2026-07-28 only: what the suite at 2025-11-25 finds of it is the relay's translation (docs/eras.md).
import { createServer } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { fixtureServer } from './fixtures.js'

const handler = createMcpHandler(() => fixtureServer(handler.notify), { legacy: 'reject' })
createServer(toNodeHandler(handler)).listen(Number(process.env.PORT), '127.0.0.1')
