// Bundles the command (dist/cli.js and dist/chunks), the library (dist/chunks/library.js, with its types in dist/types) and the scripts of
// worker threads. A part of `npm run build`, after tsc: these files are published, tsc's own output is for tests.
//
// A desktop client starts one relay per server, and Node takes longer to find and link many small files than to read a large one: all that
// `wrap` needs to start is one chunk. esbuild makes a chunk of what the same entries reach, so every entry is made to reach all of that.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/** `#room/file.js` is a file of `src` here; Node finds that of `dist` (`imports` of package.json). */
const ownImports = {
  name: 'imports that begin with #',
  setup({ onResolve }) {
    onResolve({ filter: /^#/ }, ({ path }) => ({ path: join(root, 'src', path.slice(1).replace(/\.js$/, '.ts')) }))
  },
}

const common = {
  plugins: [ownImports],
  absWorkingDir: root, bundle: true, splitting: true, sourcemap: true, format: 'esm', platform: 'node', target: 'node20.19', packages: 'external',
  outdir: 'dist', chunkNames: 'chunks/[name]-[hash]', allowOverwrite: true, logLevel: 'warning', metafile: true,
}
const command = { ...common, entryPoints: { cli: 'src/cli.ts' } }

// Chunks have names of their own in each build.
await rm(join(root, 'dist/chunks'), { recursive: true, force: true })
const { metafile: { inputs } } = await build({ ...command, write: false })

/** What is loaded before anything else, by file. */
const starting = new Set()
const visit = file => {
  if (starting.has(file) || inputs[file] === undefined) return
  starting.add(file)
  for (const { path, kind } of inputs[file].imports) if (kind === 'import-statement') visit(path)
}
for (const file of ['src/cli.ts', 'src/relay/host/wrap.ts']) visit(file)
const lazy = Object.values(inputs).flatMap(({ imports }) => imports.filter(({ kind }) => kind === 'dynamic-import').map(({ path }) => path))
const entries = new Set(['src/cli.ts', ...lazy].map(file => join(root, file)))

const oneChunk = {
  name: 'what wrap needs to start is one chunk',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^what-starts$/ }, () => ({ path: 'what-starts', namespace: 'bundle' }))
    onLoad({ filter: /^what-starts$/, namespace: 'bundle' }, () => ({
      contents: [...starting].map(file => `import './${file}'`).join('\n'), resolveDir: root,
    }))
    onLoad({ filter: /\.ts$/ }, async ({ path }) => (entries.has(path) ? { contents: `${await readFile(path, 'utf8')}\nimport 'what-starts'\n`, loader: 'ts' } : undefined))
  },
}
await build({ ...command, plugins: [ownImports, oneChunk] })
const scripts = { worker: 'src/relay/schema/thread/worker.ts', target: 'src/relay/audit/target.ts', reader: 'src/desk/report/reader.ts' }
await build({ ...common, entryPoints: Object.fromEntries(Object.entries(scripts).map(([name, file]) => [`chunks/${name}`, file])) })
await build({ ...common, entryPoints: { 'chunks/library': 'src/index.ts' } })

const types = new Set()
/** Copies a declaration file, and those that it imports. */
const copyTypes = async file => {
  if (types.has(file)) return
  types.add(file)
  // Of other rooms, by their path: `imports` of package.json names files that are not in the package.
  const relativeTo = path => {
    if (!path.startsWith('#')) return path
    const way = relative(dirname(file), path.slice(1))
    return way.startsWith('.') ? way : `./${way}`
  }
  const text = (await readFile(join(root, 'dist', file), 'utf8'))
    .replaceAll(/((?:from |import\()['"])(#[^'"]+)/g, (_, before, path) => before + relativeTo(path))
  await mkdir(dirname(join(root, 'dist/types', file)), { recursive: true })
  await writeFile(join(root, 'dist/types', file), text)
  for (const [, path] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.js['"]/g)) {
    await copyTypes(join(dirname(file), `${path}.d.ts`))
  }
}
await rm(join(root, 'dist/types'), { recursive: true, force: true })
await copyTypes('index.d.ts')
