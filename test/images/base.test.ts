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
  ]
  for (const [line, says] of cases)
    t.match(await runChrooted(where, ['/bin/bash', '-c', line]), { code: 0, out: says }, line)
})

t.test('the busybox image is a shell with tools', { skip: withoutChroot }, async t => {
  const where = { root: await imageRoot('busybox'), bundle: bundle(), network: 'own' } as const
  const line = 'ls -a / && echo hi | tr a-z A-Z && id -un && awk "BEGIN { print 6 * 7 }"'
  t.match(await runChrooted(where, ['/bin/sh', '-c', line]), { code: 0, out: /\.hutch[\s\S]*HI\nroot\n42/ })
})
