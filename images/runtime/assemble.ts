/**
 * Puts a bundle together in a directory:
 *
 *     bin/       node and the programs hutchd calls
 *     lib/       the dynamic loader and every library, as a tenant's Node uses them; lib/xtables/ for iptables (XTABLES_LIBDIR)
 *     own/       the loader and libraries of the daemon and its tools, which take nothing from a tenant
 *     daemon/    boot.js, the pieces of the daemon with their code caches, native/, xterm/, node_modules/node-pty
 *     releases/  empty: where the host mounts its directory of bundles
 *     bundle.json  digest, architecture, and the command that starts the daemon
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { channelPort, keyBytes } from '../../shared/channel.ts'
import type { BootDocument } from '../../shared/wire/host.ts'
import { copyBinaries, mountPoint, xtablesDirectory } from './binaries.ts'
import { bundleCommand, scratchEnvironment } from '../../shared/bundle.ts'
import { compileBoot, compileDaemon, type BuildInfo } from './compile.ts'
import { treeDigest } from './digest.ts'
import { withoutTenantPaths } from './tenant-paths.ts'

const madeLater = (path: string): boolean =>
  path === 'bundle.json' || path === '.inputs' || path.endsWith('.cache') || path === 'daemon/warm.js'

const writeDaemon = async (root: string, daemon: string, info: BuildInfo, plain: boolean): Promise<void> => {
  mkdirSync(join(daemon, 'native'), { recursive: true })
  // Ends Node's search for a package.json, which would continue in directories that a tenant can write to.
  writeFileSync(join(daemon, 'package.json'), '{"type":"commonjs"}\n')
  for (const [name, code] of await compileDaemon(root, 'daemon/main.ts', info, {
    deferSchemas: !plain,
  }))
    writeFileSync(join(daemon, name), code)
  for (const [name, entry] of [
    ['boot.js', 'images/runtime/boot/main.ts'],
    ['warm.js', 'images/runtime/boot/warm.ts'],
  ] as const)
    writeFileSync(join(daemon, name), await compileBoot(root, entry))
  const addons = join(root, 'daemon/native/build')
  for (const file of existsSync(addons) ? readdirSync(addons) : [])
    if (file.endsWith('.node')) cpSync(join(addons, file), join(daemon, 'native', file))
  const xterm = join(root, 'node_modules/@xterm/xterm')
  for (const part of ['css/xterm.css', 'lib/xterm.js']) cpSync(join(xterm, part), join(daemon, 'xterm', part))
  const pty = join(root, 'node_modules/node-pty')
  for (const part of ['package.json', 'LICENSE', 'lib', 'build/Release/pty.node'])
    cpSync(join(pty, part), join(daemon, 'node_modules/node-pty', part), {
      recursive: true,
      filter: path => !/\.(test\.js|map)$/.test(path),
    })
}

/** What the daemon is told for that run; `boot/warm.ts` knows the key. */
const warmDocument: BootDocument = {
  channel: { key: Buffer.alloc(keyBytes).toString('base64url'), port: 0 },
  machine: { id: 'warm', anonymous: true },
  configuration: { environment: { WARM: 'yes' } },
}

/** Runs the daemon once in the finished bundle, so that its code caches contain what a start needs. */
const warm = async (bundle: string): Promise<void> => {
  const scratch = mkdtempSync(join(tmpdir(), 'hutch-warm-'))
  try {
    const [command, ...args] = bundleCommand(bundle, 'warm.js')
    await execa(command, [...args, '--port', '0'], {
      cwd: scratch,
      extendEnv: false,
      env: { ...scratchEnvironment(scratch), HUTCH_BOOT: 'stdin' },
      input: JSON.stringify(warmDocument),
      timeout: 120_000,
    })
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/**
 * Makes the bundle in `bundle`, an empty directory, and returns its digest; the same sources give the same digest. A
 * `plain` one has neither deferred schemas nor code caches (`daemon/node-internals/README.md`).
 */
export const assemble = async (
  root: string,
  bundle: string,
  info: BuildInfo,
  { plain = false }: { plain?: boolean } = {},
): Promise<string> => {
  const [bin, lib, daemon] = ['bin', 'lib', 'daemon'].map(name => join(bundle, name)) as [string, string, string]
  for (const dir of [bin, lib, daemon, join(bundle, 'releases')]) mkdirSync(dir)
  await writeDaemon(root, daemon, info, plain)
  const native = readdirSync(join(daemon, 'native')).map(file => join(daemon, 'native', file))
  const addons = [...native, join(daemon, 'node_modules/node-pty/build/Release/pty.node')]
  await copyBinaries({ node: join(root, '.runtime/node/bin/node'), addons }, { bundle, bin, lib })
  const xtables = xtablesDirectory()
  if (xtables) {
    cpSync(xtables, join(lib, 'xtables'), { recursive: true, verbatimSymlinks: true })
    for (const name of readdirSync(join(lib, 'xtables'))) withoutTenantPaths(name, join(lib, 'xtables', name))
  }
  if (!plain) await warm(bundle)
  rmSync(join(daemon, 'warm.js'))
  const command = bundleCommand(mountPoint, 'boot.js')
  const facts = { arch: process.arch, node: process.version, channelPort, command }
  const digest = treeDigest(bundle, JSON.stringify(facts), madeLater)
  writeFileSync(join(bundle, 'bundle.json'), `${JSON.stringify({ digest, ...facts }, null, 2)}\n`)
  return digest
}
