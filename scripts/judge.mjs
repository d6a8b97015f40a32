// Compiles the judge of bytes (src/relay/judge/assembly, AssemblyScript) to WebAssembly, and writes it as text into src/relay/judge/generated/: a few KB
// that are found wherever the program is bundled to. A part of `npm run build`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'

const judge = new URL('../src/relay/judge/', import.meta.url)
const options = [
  '-O3', '--runtime', 'stub', '--noAssert', '--enable', 'simd', '--use', 'abort=', '--initialMemory', '11', '--maximumMemory', '256',
]
let binary
const files = { writeFile: (_, contents) => void (binary = contents) }
const { error, stderr } = await asc.main([fileURLToPath(new URL('assembly/index.ts', judge)), '--outFile', 'judge.wasm', ...options], files)
if (error !== null) throw new Error(`${error.message}\n${stderr.toString()}`)

const folder = new URL('generated/', judge)
mkdirSync(folder, { recursive: true })
writeFileSync(new URL('code.ts', folder), `/** The compiled module, in base64. */\nexport const code = '${Buffer.from(binary).toString('base64')}'\n`)
