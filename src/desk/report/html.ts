import { readFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import type { Summary } from './summary.js'

/** A page with its data in it; it makes no network requests. */
export const reportPage = async (summary: Summary): Promise<string> =>
  html(await assets(), dataScript(summary))

/** A page that gets its data from the event stream at `events`. */
export const livePage = async (): Promise<string> => html(await assets(), '', 'connect-src \'self\'; ')

interface Assets {
  readonly script: string
  readonly style: string
}

/** They are in dist/page. */
const assets = async (): Promise<Assets> => {
  const read = (name: string) => readFile(new URL(import.meta.resolve(`#page/${name}`)), 'utf8')
  const [script, style] = await Promise.all([read('page.js'), read('page.css')])
  return { script: script.trim(), style: style.trim() }
}

/** Escapes tags and Unicode line separators, so that no text in the data can end the script element. */
const dataScript = (summary: Summary): string => {
  const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  const json = JSON.stringify(summary).replace(/[<>&\u2028\u2029]/g, escape)
  return `<script type="application/json" id="summary">${json}</script>\n`
}

const policyFor = ({ script, style }: Assets, sources: string): string =>
  `default-src 'none'; script-src '${hashOf(script)}'; style-src '${hashOf(style)}'; img-src data:; ` +
  `${sources}base-uri 'none'; form-action 'none'`

const html = (assets: Assets, data: string, sources = ''): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policyFor(assets, sources)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>mcp-customs</title>
<link rel="icon" href="data:,">
<style>${assets.style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page draws what it holds with a script of its own.</noscript>
${data}<script>${assets.script}</script>
</body>
</html>
`

/** For the content security policy, by which only the script and style of the page apply. */
const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`
