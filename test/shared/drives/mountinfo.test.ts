import t from 'tap'
import { below, parseMountinfo, sourceBelow, visible } from '../../../shared/drives/mountinfo.ts'

const text = [
  '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
  '23 22 0:5 / /proc rw,nosuid - proc proc rw',
  '30 22 0:40 / /.hutch-drives ro - tmpfs tmpfs rw',
  '31 30 8:2 /pool/one /.hutch-drives/one rw - ext4 /dev/sdb rw',
  '32 22 8:2 /pool/one/sub\\040dir /mnt/a\\134b rw,nosuid - ext4 /dev/sdb rw',
  '33 22 8:2 /pool/one /mnt/all ro,nodev - ext4 /dev/sdb rw',
  '34 22 8:2 /pool/other /mnt/other rw - ext4 /dev/sdb rw',
  '35 22 0:40 /two /mnt/two rw - tmpfs tmpfs rw',
  '36 22 8:2 /pool/one//deleted /mnt/gone rw - ext4 /dev/sdb rw',
  '37 22 0:50 / /mnt/two rw - tmpfs tmpfs rw',
  'nonsense',
].join('\n')
const entries = parseMountinfo(text)
const sourceOf = (mountPoint: string, directory = '/.hutch-drives', all = entries) => {
  const entry = all.find(one => one.mountPoint === mountPoint)
  return entry && sourceBelow(entry, directory, all)
}

t.test('lines are parsed, escapes and all', async t => {
  t.equal(entries.length, 10)
  t.same(entries[4], { id: 32, device: '8:2', root: '/pool/one/sub dir', mountPoint: '/mnt/a\\b', readOnly: false })
  t.equal(entries[5]?.readOnly, true)
  t.equal(entries[8]?.root, '/pool/one')
})

t.test('a bind mount is told apart by the file system and directory it shows', async t => {
  t.equal(sourceOf('/mnt/a\\b'), '/one/sub dir')
  t.equal(sourceOf('/mnt/all'), '/one')
  t.equal(sourceOf('/mnt/two'), '/two', 'the root itself may be the mount')
  for (const other of ['/', '/proc', '/mnt/other', '/.hutch-drives']) t.equal(sourceOf(other), undefined, other)
})

t.test('the directory of drives may be a plain one', async t => {
  const plain = parseMountinfo(
    '1 0 8:1 / / rw - ext4 a rw\n2 1 8:1 /d/one/x /m rw - ext4 a rw\n3 1 8:1 /d /n rw - ext4 a rw',
  )
  t.equal(sourceOf('/m', '/d', plain), '/one/x')
  t.equal(sourceOf('/n', '/d', plain), undefined, 'all drives at once are no drive')
})

t.test('the last mount at a place is the one that is seen', async t => {
  t.equal(visible(entries).find(({ mountPoint }) => mountPoint === '/mnt/two')?.device, '0:50')
})

t.test('below', async t => {
  t.equal(below('/a', '/a'), '')
  t.equal(below('/a/b', '/a'), '/b')
  t.equal(below('/ab', '/a'), undefined)
  t.equal(below('/a', '/'), '/a')
})
