/** What pages load: the host's own files, and parts of packages. Nothing is fetched from elsewhere. */
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { installation } from '../../../../shared/installation.ts'

const own = ['pages.css', 'terminal.css', 'terminal.js', 'style-nonce.js', 'explorer.css', 'explorer.js']

/** Files of packages, below node_modules; their names in addresses are the last part. */
const packaged = [
  '@xterm/xterm/css/xterm.css',
  '@xterm/xterm/lib/xterm.js',
  '@xterm/addon-fit/lib/addon-fit.js',
  '@xterm/addon-web-links/lib/addon-web-links.js',
  '@xterm/addon-unicode11/lib/addon-unicode11.js',
  'swagger-ui-dist/swagger-ui.css',
  'swagger-ui-dist/swagger-ui-bundle.js',
  'swagger-ui-dist/swagger-ui-standalone-preset.js',
] as const

/** Packages of which the npm package carries files, as directories below node_modules. */
export const packagesOfPages: readonly string[] = [
  ...new Set(packaged.map(file => /^(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] as string)),
]

/** Where each file lies in a checkout at `root`, by its name in addresses. */
export const filesOfPages = (root: string): ReadonlyMap<string, string> =>
  new Map([
    ...own.map(name => [name, join(root, 'control/server/web/html/files', name)] as const),
    ...packaged.map(file => [basename(file), join(root, 'node_modules', file)] as const),
  ])

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

export interface Asset {
  readonly type: string
  readonly bytes: Buffer
}

/** Reads assets by name; undefined for any other name. What was read once stays: two megabytes when all was asked for. */
export const createAssets = ({ kind, root } = installation): ((name: string) => Promise<Asset | undefined>) => {
  const files =
    kind === 'checkout'
      ? filesOfPages(root)
      : new Map(
          [...filesOfPages(root).keys()].map(name => [name, join(root, 'dist/control/server/web/html/files', name)]),
        )
  const read = new Map<string, Asset>()
  return async name => {
    const file = files.get(name)
    if (file === undefined) return undefined
    const known = read.get(name)
    if (known) return known
    const asset = { type: types[name.slice(name.lastIndexOf('.') + 1)] as string, bytes: await readFile(file) }
    read.set(name, asset)
    return asset
  }
}
