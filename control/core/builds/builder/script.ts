/** Shell scripts of a build. What a caller says reaches them as variables or as quoted words, never as text of the script. */

/** Where things are in a builder. */
export const places = {
  /** Layers; they stay from build to build. */
  store: '/var/lib/containers',
  /** Of one build; gone with it. */
  work: '/build/work',
  /** In memory: secrets of one build. */
  secrets: '/dev/shm/hutch-secrets',
} as const

export const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** One file for all authorities that the machine trusts, made by its daemon where there are any beside the image's. */
const mergedCa = '/etc/ssl/certs/sandbox-ca-bundle.crt'
export const innerCa = '/run/hutch-ca.crt'

/**
 * Variables with which the steps of a build trust what the machine trusts; the image does not keep them. Node adds to its own
 * authorities, the others replace theirs.
 */
export const trustVariables = [
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'PIP_CERT',
  'REQUESTS_CA_BUNDLE',
  'NODE_EXTRA_CA_CERTS',
  'CARGO_HTTP_CAINFO',
] as const

/** Layers are overlays where that can be: a driver that gives the machine no place for them has each copied whole. */
const buildah = `storage=overlay
if [ "$(stat -f -c %T ${places.store} 2>/dev/null || echo overlayfs)" = overlayfs ]; then storage=vfs; fi
b() { buildah --storage-driver $storage --root ${places.store} --runroot /run/hutch-builds "$@"; }`

/** Nothing of a build before is left but its layers. */
const clean = `for one in /proc/[0-9]*; do
  case "\${one#/proc/}" in 1|$$|$PPID) ;; *) kill -9 "\${one#/proc/}" 2>/dev/null || true ;; esac
done
rm -rf ${places.work} ${places.secrets}`

export const prepare = `${clean}
mkdir -p ${places.work}/context ${places.secrets}
chmod 700 ${places.work} ${places.secrets}`

/** Exit code 0 when the image of that digest is in the store. */
export const hasImage = (digest: string): string => `${buildah}
b images -q localhost/hutch/${digest} >/dev/null 2>&1`

/** `layout` holds an OCI layout with an image called "image". */
export const loadImage = (digest: string, layout: string): string => `${buildah}
id=$(b pull -q oci:${layout}:image)
b tag "$id" localhost/hutch/${digest}
rm -rf ${layout}`

export const nameImage = (digest: string, name: string): string => `${buildah}
b tag localhost/hutch/${digest} ${quoted(name)}`

export interface BuildWords {
  /** Variables that the image does not keep. */
  readonly unset: readonly string[]
  readonly args: Readonly<Record<string, string>>
  /** Ids of secrets; each is a file of that name. */
  readonly secrets: readonly string[]
  readonly hasLogins: boolean
}

/**
 * Writes what was built to `out`: the configuration of OCI, and all layers as one. They are read by the builder's own tar from inside
 * of a container of the image, where the overlays of the builder do not show what they have noted on its files. Exit code 1 of tar is a
 * file that changed meanwhile; an archive that is cut off is found when it is read.
 */
const pack = `mkdir ../out
b inspect --type image localhost/hutch-built >../out/config.json
built=$(b from localhost/hutch-built)
loader=$(readlink -f "$(ldd /usr/bin/tar | awk '/ld-linux/ { print $1 }')")
inside="/hutch-builder\${loader#/usr}"
b run --isolation chroot --user 0:0 --volume /usr:/hutch-builder:ro --volume ${places.work}/out:/hutch-out "$built" -- \\
  "$inside" --library-path "\${inside%/*}" /hutch-builder/bin/tar \\
  --create --file /hutch-out/layer.tar --format=posix --pax-option=delete=atime,delete=ctime --numeric-owner --sort=name \\
  --warning=no-file-ignored --warning=no-xdev --one-file-system --xattrs --xattrs-include='*' \\
  --exclude=./hutch-builder --exclude=./hutch-out --directory / . || [ $? = 1 ]
b rm "$built" >/dev/null
sha256sum ../out/layer.tar | cut -d" " -f1 >../out/digest`

/** Unpacks the context, builds it, and writes the image to `out`. */
export const build = ({ unset, args, secrets, hasLogins }: BuildWords): string => {
  const flags = [
    ...Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
    ...secrets.flatMap(id => ['--secret', `id=${id},src=${places.secrets}/${id}`]),
    ...(hasLogins ? ['--authfile', `${places.secrets}/auth.json`] : []),
    ...unset.flatMap(name => ['--unsetenv', name]),
    // Node of our images is the host's.
    '--volume',
    '/.hutch:/.hutch:ro',
  ]
  return `exec 2>&1
${buildah}
cd ${places.work}/context
tar -xf ../context.tar
rm ../context.tar
set -- ${flags.map(quoted).join(' ')}
if [ -s ${mergedCa} ]; then set -- "$@" --volume ${mergedCa}:${innerCa}:ro; fi
b bud --isolation chroot --layers "$@" -f ../Dockerfile -t localhost/hutch-built .
${pack}
b rmi localhost/hutch-built >/dev/null 2>&1 || true`
}

/** After a build: layers go when they fill the disk of the builder. */
export const tidy = `${clean}
${buildah}
b rm -a >/dev/null 2>&1 || true
used=$(df --output=pcent ${places.store} | tail -1 | tr -dc 0-9)
if [ "$used" -gt 60 ]; then b rmi -a -f >/dev/null 2>&1 || rm -rf ${places.store}/*; fi`
