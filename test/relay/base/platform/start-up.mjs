// A row for the table of Node's versions: the median of five starts of `wrap`, until `initialize` is answered. Linux: reads /proc.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const [cli, demo] = process.argv.slice(2).map(path => resolve(path))
const request = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'start-up', version: '1' } } }

const once = () => new Promise((done, fail) => {
  const began = performance.now()
  const relay = spawn(process.execPath, [cli, 'wrap', '--audit', 'none', '--', process.execPath, join(demo, 'lying-server.mjs')], { stdio: ['pipe', 'pipe', 'ignore'] })
  relay.on('error', fail)
  relay.stdout.once('data', () => {
    const ms = performance.now() - began
    const fields = readFileSync(`/proc/${relay.pid}/stat`, 'utf8').split(') ')[1].split(' ')
    const cpu = (Number(fields[11]) + Number(fields[12])) * 10
    const memory = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${relay.pid}/status`, 'utf8'))[1]) / 1024
    relay.on('close', () => done([cpu, ms, memory]))
    relay.stdin.end()
  })
  relay.stdin.write(`${JSON.stringify(request)}\n`)
})

const taken = []
for (let turn = 0; turn < 5; turn += 1) taken.push(await once())
const median = column => taken.map(figures => figures[column]).sort((a, b) => a - b)[2].toFixed(0)
console.log(`| ${process.version} | ${median(0)} | ${median(1)} | ${median(2)} |`)
