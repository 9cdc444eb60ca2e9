# httpdnsd as a container: docs in Documentation/Recipes.md, settings in conf/container.toml. For the platform of the machine,
# or another that both bases have: --platform linux/arm64.

# A point release, so that two builds have one base. A digest pins more: --build-arg DEBIAN=debian@sha256:...
ARG DEBIAN=debian:12.12-slim

FROM swift:6.3-bookworm AS build
WORKDIR /source
COPY scripts/install-dependencies scripts/install-dependencies
RUN scripts/install-dependencies build && apt-get install -qq -y --no-install-recommends libcap2-bin
COPY Package.swift ./
RUN swift package resolve
# The tests belong to the package; of their files nothing is built.
COPY . .
RUN swift build -c release --static-swift-stdlib --disable-local-rpath --product httpdnsd \
    && install --strip -D "$(swift build -c release --static-swift-stdlib --show-bin-path)/httpdnsd" \
        /image/usr/local/bin/httpdnsd \
    && scripts/hardened /image/usr/local/bin/httpdnsd \
    # Port 53 is all that a user other than root may not bind: the right to it goes with the file.
    && setcap cap_net_bind_service=+ep /image/usr/local/bin/httpdnsd
COPY conf/container.toml /image/etc/httpdnsd/httpdnsd.toml

FROM $DEBIAN
ARG DEBIAN
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="httpdnsd" \
    org.opencontainers.image.description="A stub DNS server that answers from HTTPDNS providers" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.revision="$REVISION" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.base.name="docker.io/library/$DEBIAN"
RUN apt-get -qq update \
    && apt-get -qq install -y --no-install-recommends ca-certificates libhiredis0.14 libfstrm0 libnghttp2-14 \
        libprotobuf-c1 libseccomp2 libsqlite3-0 \
    && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* \
    && groupadd --system --gid 10053 httpdnsd \
    && useradd --system --uid 10053 --gid 10053 --no-create-home --shell /usr/sbin/nologin httpdnsd \
    && install -d -o httpdnsd -g httpdnsd /var/lib/httpdnsd \
    # What is mounted here takes this mode over, whoever owns it.
    && install -d -m 1777 /run/httpdnsd
COPY --from=build /image /
# The control socket has a place under a read-only root too, whatever the engine mounts over /run.
VOLUME /run/httpdnsd
USER 10053:10053
EXPOSE 53/udp 53/tcp
HEALTHCHECK --interval=30s --timeout=3s --start-period=2s CMD ["httpdnsd", "healthcheck"]
ENTRYPOINT ["httpdnsd"]
CMD ["serve"]
