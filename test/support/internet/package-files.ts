/** Small packages that npm, pip and apt really install. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** Files below `dir`, by path. */
const write = (dir: string, files: Readonly<Record<string, string>>): void => {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), content)
  }
}

const run = (dir: string, file: string, ...args: string[]): Buffer =>
  execFileSync(file, args, { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] })

export const npmTarball = (dir: string): Buffer => {
  write(dir, {
    'package/package.json': '{"name":"left","version":"1.0.0","main":"index.js"}',
    'package/index.js': 'module.exports = "from a tarball"\n',
  })
  return run(dir, 'tar', '-cz', 'package')
}

export const wheel = (dir: string): Buffer => {
  const about = 'wheel/left-1.0.dist-info'
  write(dir, {
    'wheel/left.py': 'said = "from a wheel"\n',
    [`${about}/METADATA`]: 'Metadata-Version: 2.1\nName: left\nVersion: 1.0\n',
    [`${about}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${about}/RECORD`]: 'left.py,,\nleft-1.0.dist-info/METADATA,,\nleft-1.0.dist-info/WHEEL,,\n',
  })
  run(join(dir, 'wheel'), 'python3', '-m', 'zipfile', '-c', '../left.whl', '.')
  return readFileSync(join(dir, 'left.whl'))
}

/** A package and the list that names it, of a repository without sections (sources.list(5), "flat"). */
export const debian = (dir: string): { deb: Buffer; list: Buffer } => {
  const control =
    'Package: left\nVersion: 1.0\nArchitecture: all\nMaintainer: Nobody <n@example.org>\nDescription: small\n'
  write(dir, { 'deb/DEBIAN/control': control, 'deb/usr/share/left/said': 'from a .deb\n' })
  run(dir, 'dpkg-deb', '--build', '--root-owner-group', '-Zgzip', 'deb', 'left.deb')
  const deb = readFileSync(join(dir, 'left.deb'))
  const sha256 = createHash('sha256').update(deb).digest('hex')
  const entry = `${control}Filename: pool/left_1.0_all.deb\nSize: ${deb.length}\nSHA256: ${sha256}\n\n`
  return { deb, list: gzipSync(entry) }
}
