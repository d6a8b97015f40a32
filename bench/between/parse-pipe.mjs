// The least that a relay can do that looks at all: splits lines, parses each, and passes the bytes on.
import { spawn } from 'node:child_process'
import { eachLine } from '../lines.mjs'

const [command, ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const newline = Buffer.from('\n')

const relay = (from, to) => eachLine(from, line => {
  JSON.parse(line)
  to.cork()
  to.write(line)
  to.write(newline)
  process.nextTick(() => to.uncork())
})
relay(process.stdin, child.stdin)
relay(child.stdout, process.stdout)
process.stdin.on('end', () => child.stdin.end())
child.on('exit', code => process.exit(code ?? 1))
