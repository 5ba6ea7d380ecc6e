/** Pages of the host itself: how each looks, what it may load and who may show it. */
import { html, type Html } from './html.ts'

/** Address of what pages load, at the root of every host name that is served here. */
export const assetsPath = '/_hutch/assets/'

/** What leads from an address to the root, also where a proxy put something in front: `../../` for `/a/b/c`. */
export const rootFrom = (path: string): string => '../'.repeat(Math.max(0, path.split('/').length - 2)) || './'

export interface Page {
  readonly title: string
  /** From `rootFrom`. */
  readonly root: string
  readonly body: Html
  readonly styles?: readonly string[]
  /** Names of assets, run in this order. */
  readonly scripts?: readonly string[]
  /** For styles that its scripts make. */
  readonly nonce?: string
}

/** The whole document. */
export const pageText = ({ title, root, body, styles = ['pages.css'], scripts = [], nonce }: Page): string => {
  const at = (name: string) => `${root}${assetsPath.slice(1)}${name}`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
${nonce === undefined ? [] : html`<meta name="style-nonce" content="${nonce}">\n`}<title>${title}</title>
${styles.map(name => html`<link rel="stylesheet" href="${at(name)}">\n`)}</head>
<body>
${body}
${scripts.map(name => html`<script src="${at(name)}"></script>\n`)}</body>
</html>
`.text
}

export interface PagePolicy {
  /** Further sources of style elements: `'nonce-…'` or a hash, for those that scripts of packages make. */
  readonly styles?: string
  /** Such scripts write style attributes too, which are no way in. */
  readonly styleAttributes?: boolean
}

/** Headers of a page: it loads nothing from elsewhere, nobody shows it in a frame, and its address is told to nobody. */
export const pageHeaders = ({ styles = '', styleAttributes = false }: PagePolicy = {}): Record<string, string> => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' ${styles}`.trim(),
    ...(styleAttributes ? ["style-src-attr 'unsafe-inline'"] : []),
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
})
