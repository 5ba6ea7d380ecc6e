import t from 'tap'
import { createCommandReader } from '../../../daemon/terminal/typed-commands.ts'

const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['Enter ends a line, as CR or LF', ['ls -la\r', 'pwd\n'], ['ls -la', 'pwd']],
  ['keys arrive one by one', [...'echo hi\r'], ['echo hi']],
  ['blank lines are left out, others trimmed', ['\r', '   \r', '  ls  \r'], ['ls']],
  ['delete and backspace remove one', ['lx\x7fs\r', 'pwx\bd\r'], ['ls', 'pwd']],
  ['cursor keys and other CSI sequences are not text', ['l\x1b[D\x1b[1;5Cs\r'], ['ls']],
  ['OSC ends with BEL', ['\x1b]0;title\x07ls\r'], ['ls']],
  ['OSC ends with ESC backslash', ['\x1b]0;title\x1b\\ls\r'], ['ls']],
  ['two-byte escapes are skipped', ['\x1bOls\r'], ['ls']],
  ['several lines in one frame', ['a\rb\rc'], ['a', 'b']],
  ['an escape may be split over frames', ['\x1b', '[', 'A', 'ls\r'], ['ls']],
]

for (const [title, frames, commands] of cases)
  t.test(title, async t => {
    const { feed } = createCommandReader()
    t.same(
      frames.flatMap(frame => feed(frame)),
      commands,
    )
  })

t.test('a line without end is bounded', async t => {
  const { feed } = createCommandReader()
  for (let i = 0; i < 100; i++) feed('x'.repeat(1000))
  t.equal(feed('\r')[0]?.length, 4096)
})
