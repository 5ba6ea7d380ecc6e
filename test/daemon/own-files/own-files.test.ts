import '../../support/native.ts'
import {
  chownSync,
  closeSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  makeFile,
  makePrivateDirectory,
  openOwnFile,
  putInPlace,
  readOwnFile,
  replaceFile,
} from '../../../daemon/own-files/own-files.ts'

const skip = process.getuid?.() !== 0 && 'needs root, to leave files of another user'
const somebody = 4711

const place = (t: Test) => {
  const dir = t.testdir({ own: 'own', theirs: 'theirs', directory: { in: 'it' }, other: { in: 'it' } })
  const at = (name: string) => join(dir, name)
  for (const name of ['theirs', 'other']) chownSync(at(name), somebody, somebody)
  symlinkSync(at('own'), at('link'))
  symlinkSync(at('other'), at('to-other'))
  return { dir, at }
}

const read = (path: string, maxBytes = 100) => {
  const reasons: string[] = []
  return { text: readOwnFile(path, maxBytes, reason => reasons.push(reason)), refused: reasons.length }
}

t.test('only a file of the daemon’s own user is believed', { skip }, async t => {
  const { at } = place(t)
  t.same(read(at('own')), { text: 'own', refused: 0 })
  t.same(read(at('none')), { text: '', refused: 0 })
  for (const name of ['theirs', 'link', 'directory']) t.same(read(at(name)), { text: '', refused: 1 }, name)
  t.same(read(at('own'), 2), { text: '', refused: 1 }, 'nor a larger one')
  for (const name of ['theirs', 'link', 'directory', 'none']) t.equal(openOwnFile(at(name)), undefined, name)
  closeSync(openOwnFile(at('own')) as number)
})

t.test('a directory of another user’s, or a link, is none of the daemon’s', { skip }, async t => {
  const { dir, at } = place(t)
  for (const name of ['other', 'to-other', 'own', 'directory', 'new']) {
    makePrivateDirectory(at(name))
    const { uid, mode } = statSync(at(name))
    t.same({ uid, mode: mode & 0o777 }, { uid: 0, mode: 0o700 }, name)
  }
  t.same(readdirSync(at('other')), [], 'what was in it is aside')
  t.same(readdirSync(at('directory')), ['in'], 'its own stays')
  const aside = readdirSync(dir).filter(name => name.includes('.not-hutchd-'))
  t.same(aside.map(name => name.split('.')[0]).toSorted(), ['other', 'own', 'to-other'])
})

t.test('what is written is a new file, whatever has its name', { skip }, async t => {
  const { at } = place(t)
  replaceFile(at('link'), 'new', 0o600)
  closeSync(makeFile(at('to-other'), 0o600))
  closeSync(makeFile(at('directory'), 0o600))
  t.equal(readFileSync(at('own'), 'utf8'), 'own', 'no link is followed')
  t.same(read(at('link')), { text: 'new', refused: 0 })
  t.same(readdirSync(at('other')), ['in'])
  t.ok(statSync(at('directory')).isFile())
  mkdirSync(at('taken'))
  writeFileSync(at('next'), 'next')
  putInPlace(at('next'), at('taken'))
  t.same(read(at('taken')), { text: 'next', refused: 0 })
})
