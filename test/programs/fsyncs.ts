/**
 * Writes to the working directory as programs do that must not lose anything, and says in the file of its first argument how many rounds of that
 * are over. Beside it, what nobody has asked to be kept.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'

const [told = '', rounds = ''] = process.argv.slice(2)
const step = openSync(told, 'r+')

const sync = (path: string): void => {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}

const put = (path: string, round: number, bytes: number): void => {
  writeFileSync(path, `${round}:`.padEnd(bytes, String.fromCharCode(97 + (round % 26))))
  sync(path)
}

/** Directories of many blocks that come and go: those are written by files next. */
const makeJunk = (round: number): void => {
  const dir = `junk-${round % 5}`
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  for (let index = 0; index < 30; index++) writeFileSync(`${dir}/${'x'.repeat(200)}-${index}`, 'y'.repeat(round * 97))
}

for (const dir of ['files', 'replaced']) mkdirSync(dir)
const log = openSync('log', 'a')
for (const path of ['files', 'replaced', '.']) sync(path)
for (let round = 1; round <= Number(rounds); round++) {
  makeJunk(round)
  put(`files/${round}`, round, 300 * round)
  sync('files')
  writeSync(log, `${round}:`.padEnd(4_096, 'z'))
  fsyncSync(log)
  put('replaced/new', round, 5_000)
  renameSync('replaced/new', 'replaced/kept')
  sync('replaced')
  writeSync(step, new Uint8Array(Uint32Array.of(round).buffer), 0, 4, 0)
}
