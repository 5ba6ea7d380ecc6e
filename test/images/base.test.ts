import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bundle, imageRoot, runChrooted, withoutChroot } from '../support/chroot.ts'

t.test('the base image has what agents reach for', { skip: withoutChroot }, async t => {
  const where = { root: await imageRoot('base'), bundle: bundle(), network: 'own', env: { HOME: '/tmp' } } as const
  const cases: [string, RegExp][] = [
    ['node -p "process.version"', /^v24\./],
    ['npm --version', /^\d+\./],
    ['npx --version', /^\d+\./],
    ['python --version; python3 -m pip --version; python3 -m venv --help', /^Python 3[\s\S]*pip \d[\s\S]*usage: venv/],
    ['git --version', /^git version/],
    ['curl --version && test -s /etc/ssl/certs/ca-certificates.crt && echo trusted', /trusted/],
    ['ps -e >/dev/null && ip -br link && less --version && jq --version', /^lo /],
    ['stat -c %a /tmp / /usr/bin', /^1777\n755\n755/],
    ['apt-config dump APT::Sandbox::User', /"root"/],
    ['locale -a 2>/dev/null; echo $((1+1))', /2/],
    ['zip --version | head -2 && unzip -v | head -1 && sqlite3 :memory: "select 6*7"', /42$/m],
    ['vi --version | head -1; nc -h 2>&1 | head -1', /VIM.*\nOpenBSD netcat/],
    [
      'cd /tmp && echo "int main(void) { return 7; }" >a.c && gcc a.c -o a && ./a; echo $?; g++ --version | head -1; make --version',
      /^7\ng\+\+ [\s\S]*GNU Make/,
    ],
  ]
  for (const [line, says] of cases)
    t.match(await runChrooted(where, ['/bin/bash', '-c', line]), { code: 0, out: says }, line)
})

t.test('pip installs for whoever types it', { skip: withoutChroot }, async t => {
  const where = { root: await imageRoot('base'), bundle: bundle(), network: 'own', env: { HOME: '/tmp' } } as const
  const line = [
    'mkdir -p /tmp/greeting && cd /tmp/greeting && echo "def hello(): return 42" >greeting.py',
    `printf '[project]\\nname = "greeting"\\nversion = "1"\\n' >pyproject.toml`,
    'pip install --no-index --no-build-isolation . && python -c "import greeting; print(greeting.hello())"',
  ].join(' && ')
  const { out, code } = await runChrooted(where, ['/bin/bash', '-c', line])
  t.equal(code, 0, out)
  t.match(out, /Successfully installed greeting-1\n42\n$/)
  t.notMatch(out, /externally-managed|WARNING/)
})

t.test('uv is there unless PyPI could not be reached when the image was built', { skip: withoutChroot }, async t => {
  const where = { root: await imageRoot('base'), bundle: bundle(), network: 'own', env: { HOME: '/tmp' } } as const
  const { out, code } = await runChrooted(where, [
    '/bin/bash',
    '-c',
    'command -v uv >/dev/null || exit 9; uv --version',
  ])
  if (code === 9) t.pass('skipped: needs PyPI when the image is built', { skip: 'needs PyPI when the image is built' })
  else t.match(out, /^uv \d+\./)
})

t.test('programs of the base image are told which shell there is', { skip: withoutChroot }, async t => {
  const facts = JSON.parse(readFileSync(join(await imageRoot('base'), '../image.json'), 'utf8')) as { env: object }
  t.match(facts.env, { SHELL: '/bin/bash', LANG: 'C.UTF-8' })
})

t.test('the busybox image is a shell with tools', { skip: withoutChroot }, async t => {
  const where = { root: await imageRoot('busybox'), bundle: bundle(), network: 'own' } as const
  const line = 'node -p 6*7 && ls -a / && echo hi | tr a-z A-Z && id -un && awk "BEGIN { print 6 * 7 }"'
  t.match(await runChrooted(where, ['/bin/sh', '-c', line]), { code: 0, out: /^42\n[\s\S]*\.hutch[\s\S]*HI\nroot\n42/ })
})
