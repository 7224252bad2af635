# docker build -t onward . && docker run --rm -v "$PWD:/data" onward check model.onnx
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates g++ git make python3
COPY . /onward
RUN cd /onward && mkdir /wheel && cp "$(make -s wheel)" /wheel

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3-venv && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheel /wheel
RUN python3 -m venv /opt/onward && /opt/onward/bin/pip install --no-cache-dir /wheel/*.whl && rm -r /wheel
ENV PATH=/opt/onward/bin:$PATH
WORKDIR /data
ENTRYPOINT ["onward"]
