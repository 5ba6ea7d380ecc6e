# Sourced before anything is fetched: networks that need a proxy, or whose proxy shows certificates of its own.

# Tools differ in the spelling that they read; who sets one means both.
for name in http_proxy https_proxy no_proxy; do
  upper=${name^^}
  if [ -z "${!name:-}" ] && [ -n "${!upper:-}" ]; then export "$name=${!upper}"; fi
  if [ -z "${!upper:-}" ] && [ -n "${!name:-}" ]; then export "$upper=${!name}"; fi
done

# npm under the pinned Node trusts what the machine trusts.
system_ca=/etc/ssl/certs/ca-certificates.crt
if [ -e "$system_ca" ]; then export NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-$system_ca}"; fi

# HUTCH_CA_FILE: authorities to trust besides, PEM. Most tools take one file instead of an addition, so they get one with all.
ca_bundle=
if [ -n "${HUTCH_CA_FILE:-}" ]; then
  if ! grep -qs -e '-----BEGIN CERTIFICATE-----' "$HUTCH_CA_FILE"; then
    echo "hutch: HUTCH_CA_FILE: $HUTCH_CA_FILE is not a readable file with certificates in PEM" >&2
    exit 1
  fi
  ca_bundle=$(realpath -m "${IMAGES_DIR:-.runtime}")/.ca-bundle.crt
  mkdir -p "$(dirname "$ca_bundle")"
  for file in "$system_ca" "${NODE_EXTRA_CA_CERTS:-}" "$HUTCH_CA_FILE"; do
    if [ -n "$file" ] && [ -e "$file" ]; then cat "$file"; echo; fi
  done >"$ca_bundle.$$"
  mv "$ca_bundle.$$" "$ca_bundle"
  export NODE_EXTRA_CA_CERTS="$ca_bundle" npm_config_cafile="$ca_bundle" SSL_CERT_FILE="$ca_bundle" PIP_CERT="$ca_bundle"
fi

# What a program without any authorities of its own is given.
machine_ca=${ca_bundle:-${NODE_EXTRA_CA_CERTS:-}}

# apt reads the proxy variables by itself, and certificates from its own options only.
apt_options=()
if [ -n "$ca_bundle" ]; then apt_options=(-o "Acquire::https::CaInfo=$ca_bundle"); fi
