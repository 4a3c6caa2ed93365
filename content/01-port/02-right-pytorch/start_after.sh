docker run --rm --device=/dev/kfd --device=/dev/dri --group-add=video --env CUDA_VISIBLE_DEVICES=0 train python train.py
