# The image of a release. Its context is the folder that `just release` (or `just release -snapshot -version 0.1.0`) makes, with linux/amd64/ralph and linux/arm64/ralph:
#
#   docker build -f Dockerfile -t ralph dist
#   docker run --rm -it -v "$PWD:/work" --user "$(id -u):$(id -g)" ralph status
FROM debian:bookworm-slim

# HOME is open to every user, because --user names one that this image does not know.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home ralph \
    && chmod 1777 /home/ralph \
    && install --directory --owner ralph /work

# The builder says which it is. A default here would win over that.
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/ralph /usr/bin/ralph

USER ralph
ENV HOME=/home/ralph
WORKDIR /work
ENTRYPOINT ["ralph"]
CMD ["help"]
